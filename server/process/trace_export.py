"""A provider of tracers that sends by OTLP over HTTP, as the variables ``OTEL_…`` say."""

import os
from collections.abc import Callable

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def set_up_provider(node_name: str | None) -> Callable[[], None]:
    """Make it the global one; what sends the rest and closes it.

    Args:
        node_name: That of the settings.
    """
    about = {} if node_name is None else {"service.instance.id": node_name}
    if not os.environ.get("OTEL_SERVICE_NAME"):
        about["service.name"] = "cronograph"
    provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider.shutdown
