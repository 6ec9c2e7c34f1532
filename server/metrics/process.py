"""What the official client library knows of a Python process: processor time, memory, open files, the collector."""

from typing import TYPE_CHECKING

from ...jobs.core.base.lazy import LazyModule, load
from ...jobs.own.threads import briefly_in_thread

if TYPE_CHECKING:
    import prometheus_client
else:
    prometheus_client = LazyModule("prometheus_client")


class ProcessMetrics:
    """Has a registry of its own; the library is imported when somebody asks for the first time."""

    def __init__(self) -> None:
        self._registry: prometheus_client.CollectorRegistry | None = None

    async def text(self) -> str:
        """The metrics."""
        if self._registry is None:
            await briefly_in_thread(load, prometheus_client)
            registry = prometheus_client.CollectorRegistry(auto_describe=False)
            prometheus_client.ProcessCollector(registry=registry)
            prometheus_client.GCCollector(registry)
            prometheus_client.PlatformCollector(registry)
            self._registry = registry
        return prometheus_client.generate_latest(self._registry).decode()
