"""The tracing system of a server: OpenTelemetry, imported by nobody who has not asked for it."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from opentelemetry import trace

from ...jobs.core.base.errors import ConfigurationError
from ...jobs.integrations.opentelemetry import Traces, start_tracing, stop_tracing

NEEDED = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


def begin(traces: str, node_name: str | None, *, logs: bool) -> Callable[[], None]:
    """Trace by OpenTelemetry, and return the function that sends the remaining spans and ends it.

    Where job code, or ``opentelemetry-instrument``, has set up a provider of tracers, that one is used. Else there is
    one that sends by OTLP over HTTP, as the variables ``OTEL_…`` say.

    Args:
        traces: ``auto``, ``link`` or ``child``.
        node_name: That of the settings.
        logs: Export the lines, too, that jobs log.

    Raises:
        ConfigurationError: there is no such provider, and the package that makes one is not installed.
    """
    close = None
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        close = _set_up(node_name, logs=logs)
    start_tracing(Traces(traces), logs=logs)

    def end() -> None:
        stop_tracing()
        if close is not None:
            close()

    return end


def _set_up(node_name: str | None, *, logs: bool) -> Callable[[], None]:
    if not all(map(_is_installed, NEEDED)):
        raise ConfigurationError(
            "traces: needs the SDK of OpenTelemetry and its exporter; install them by "
            "pip install 'cronograph[traces]', or set up a provider of tracers in the code of your jobs"
        )
    close: Callable[[], None] = import_module(".trace_export", __package__).set_up_providers(node_name, logs=logs)
    return close


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
