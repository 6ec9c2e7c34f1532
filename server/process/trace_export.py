"""Providers of tracers and of loggers that send by OTLP over HTTP, as the variables ``OTEL_…`` say."""

import os
from collections.abc import Callable

from opentelemetry import trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def set_up_providers(node_name: str | None, *, logs: bool) -> Callable[[], None]:
    """Make the global providers; return a function that sends the rest and closes them.

    Args:
        node_name: That of the settings.
        logs: Whether there is one of loggers as well.
    """
    about = {} if node_name is None else {"service.instance.id": node_name}
    if not os.environ.get("OTEL_SERVICE_NAME"):
        about["service.name"] = "cronograph"
    resource = Resource.create(about)
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    if not logs:
        return provider.shutdown
    loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
    loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    set_logger_provider(loggers)

    def shut_down() -> None:
        provider.shutdown()
        loggers.shutdown()

    return shut_down
