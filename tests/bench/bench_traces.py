"""What traces cost a run that does nothing: the throughput of an engine without and with them, one after the other.

Run it from the repository's root: ``python -m tests.bench.bench_traces``; ``--help`` lists the options. Spans go to a
batch processor, as they would to an exporter, which drops them.
"""

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import uvloop
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio
from typing_extensions import override

from cronograph.jobs.integrations.opentelemetry import start_tracing, stop_tracing
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.server.process.lifecycle import leave_out_what_stays
from tests.bench.bench_engine import measure, throughput
from tests.bench.measuring import DATABASES, fresh_database

HOW: Final = ("off", "auto", "0.1", "0")
"""Not traced, all traced, and a part of them: ``OTEL_TRACES_SAMPLER=parentbased_traceidratio`` with that argument."""


class Nowhere(SpanExporter):
    """Takes spans and drops them."""

    @override
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


@contextmanager
def traced(how: str) -> Iterator[None]:
    """Trace while the block runs, unless it is to be off."""
    part = 1.0 if how in ("off", "auto") else float(how)
    provider = TracerProvider(ParentBasedTraceIdRatio(part), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    if how != "off":
        start_tracing(tracer_provider=provider)
    yield
    stop_tracing()
    provider.shutdown()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args(arguments)
    leave_out_what_stays()
    for kind in chosen.database or DATABASES:
        for _ in range(chosen.rounds):
            for how in HOW:
                new_loop = uvloop.new_event_loop
                with fresh_database(kind) as url, traced(how), asyncio.Runner(loop_factory=new_loop) as runner:
                    said = runner.run(measure(url, throughput, chosen.runs, EngineSettings()))
                print(f"{kind:8} traces {how:4} {said}", flush=True)


if __name__ == "__main__":
    main()
