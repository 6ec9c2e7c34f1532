"""Counters and histograms with many labels, in the text format of Prometheus.

A node with 1,000 jobs has more than 20,000 lines. They are written here and not by the client library, which takes
some microseconds for each of them: lines that have not changed since the last time are not written again.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from ...jobs.core.base.lazy import LazyModule, load
from ...jobs.core.counts import BOUNDS, Histogram
from ...jobs.own.threads import briefly_in_thread

MOST_KEPT: Final = 20_000
"""Beginnings of lines that one family keeps: the largest groups of today are not those of next year."""

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def escaped(value: str) -> str:
    """Return the value of a label as it is written."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _labels(names: Sequence[str], values: Sequence[str]) -> str:
    return ",".join(f'{name}="{escaped(value)}"' for name, value in zip(names, values, strict=True))


class Family:
    """Hold the name, the description and the labels of a metric."""

    kind = ""

    def __init__(self, name: str, says: str, *labels: str) -> None:
        self.name = name
        self.labels = labels
        self._head = f"# HELP {name} {says}\n# TYPE {name} {self.kind}\n"


class Counters(Family):
    """Numbers that only grow, by the values of their labels."""

    kind = "counter"

    def __init__(self, name: str, says: str, *labels: str) -> None:
        super().__init__(name, says, *labels)
        self._starts: dict[tuple[str, ...], str] = {}

    def text(self, counted: Iterable[tuple[tuple[str, ...], float]]) -> str:
        """Return the family with these values."""
        starts = self._starts
        if len(starts) > MOST_KEPT:
            starts.clear()
        lines = [self._head]
        for values, number in counted:
            start = starts.get(values)
            if start is None:
                labels = f"{{{_labels(self.labels, values)}}}" if values else ""
                start = starts[values] = f"{self.name}{labels} "
            lines.append(f"{start}{number}\n")
        return "".join(lines)


class Gauges(Counters):
    """Numbers that rise and fall."""

    kind = "gauge"


class Histograms(Family):
    """Histograms by the values of their labels."""

    kind = "histogram"

    def __init__(self, name: str, says: str, *labels: str) -> None:
        super().__init__(name, says, *labels)
        self._templates: dict[tuple[str, ...], str] = {}
        self._written: dict[tuple[str, ...], tuple[list[int], str]] = {}

    def text(self, counted: Mapping[tuple[str, ...], Histogram]) -> str:
        """Return the family with these histograms."""
        return self._head + "".join([self._block(values, one) for values, one in counted.items()])

    def _block(self, values: tuple[str, ...], histogram: Histogram) -> str:
        counts = histogram.counts.copy()
        written = self._written.get(values)
        # All that is observed changes a count.
        if written is not None and written[0] == counts:
            return written[1]
        *buckets, count = accumulate(counts)
        block = self._template(values) % (*buckets, count, histogram.total, count)
        self._written[values] = counts, block
        return block

    def _template(self, values: tuple[str, ...]) -> str:
        found = self._templates.get(values)
        if found is None:
            labels = _labels(self.labels, values).replace("%", "%%")
            before = f"{labels}," if labels else ""
            bounds = [*(f"{bound:g}" for bound in BOUNDS), "+Inf"]
            buckets = "".join(f'{self.name}_bucket{{{before}le="{bound}"}} %d\n' for bound in bounds)
            own = f"{{{labels}}}" if labels else ""
            found = self._templates[values] = f"{buckets}{self.name}_sum{own} %r\n{self.name}_count{own} %d\n"
        return found


if TYPE_CHECKING:
    import prometheus_client
else:
    prometheus_client = LazyModule("prometheus_client")


class ProcessMetrics:
    """Has a registry of its own; the library is imported when somebody asks for the first time."""

    def __init__(self) -> None:
        self._registry: prometheus_client.CollectorRegistry | None = None

    async def text(self) -> str:
        """Return the metrics."""
        if self._registry is None:
            await briefly_in_thread(load, prometheus_client)
            registry = prometheus_client.CollectorRegistry(auto_describe=False)
            prometheus_client.ProcessCollector(registry=registry)
            prometheus_client.GCCollector(registry)
            prometheus_client.PlatformCollector(registry)
            self._registry = registry
        return prometheus_client.generate_latest(self._registry).decode()
