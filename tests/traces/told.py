"""Traces as an exporter in this process gets them."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from cronograph.jobs.integrations import opentelemetry


@dataclass
class Told:
    """What the exporter got."""

    exporter: InMemorySpanExporter
    provider: TracerProvider

    def all(self, name: str) -> list[ReadableSpan]:
        """The spans of a name, in the order of their ends."""
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        """The only span of a name."""
        (span,) = self.all(name)
        return span


@pytest.fixture
def told() -> Iterator[Told]:
    """Trace into the memory of this process."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    opentelemetry.start_tracing(tracer_provider=provider)
    yield Told(exporter, provider)
    opentelemetry.stop_tracing()
    provider.shutdown()
