"""What a page asks of the network and of the processor until it is complete, as Chromium itself counts it."""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from playwright.sync_api import CDPSession, Page

CODE = {
    "overview": ("",),
    "lists": ("tasks", "runs", "log"),
    "more": ("jobs", "groups", "nodes", "webhooks"),
    "plan": (),
    "admin": ("webhooks",),
    "alarms": ("alarms", "webhooks"),
    "webhooks": ("webhooks",),
    "later": ("tasks", "runs", "log", "jobs", "groups", "nodes", "alarms", "webhooks"),
    "one": (),
    "dialogs": (),
}
"""The files with the code and the style of pages, and which lists need them. The others come once the page is there."""


def code_of_others(path: str) -> tuple[str, ...]:
    """Return how the files begin that a list, or the overview, does not need."""
    page = path.strip("/").partition("?")[0]
    return tuple(f"/assets/{name}-" for name, pages in CODE.items() if page not in pages)


OPERATION = re.compile(r"\b(?:query|mutation) (\w+)")

LONG_TASKS = """new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.longestTask = Math.max(window.longestTask ?? 0, entry.duration);
}).observe({ type: 'longtask', buffered: true });"""
"""Notes the longest task of a page; shorter ones than 50 ms are none to the browser."""


@dataclass(frozen=True)
class Network:
    """A connection as it is emulated: seconds until an answer begins, and bytes a second."""

    latency: float
    rate: float


SLOW_3G = Network(0.4, 400_000 / 8)
"""400 kbit/s with 400 ms, as it is in most measurements of that name."""


@dataclass
class Requested:
    """One request of a page."""

    path: str
    operation: str
    bytes: float = 0.0


@dataclass
class PageWork:
    """Counts for one page from now on; `start` before it goes anywhere."""

    session: CDPSession
    origin: str
    requests: dict[str, Requested] = field(default_factory=dict[str, Requested])

    @classmethod
    def start(cls, page: Page, origin: str, network: Network | None = None) -> "PageWork":
        """Count, and let the network be no better than that."""
        session = page.context.new_cdp_session(page)
        work = cls(session, origin.rstrip("/"))
        session.on("Network.requestWillBeSent", work._sent)
        session.on("Network.loadingFinished", work._finished)
        work._send("Network.enable")
        work._send("Performance.enable")
        if network is not None:
            limits = {"latency": network.latency * 1e3, "downloadThroughput": network.rate, "uploadThroughput": -1}
            work._send("Network.emulateNetworkConditions", offline=False, **limits)
        page.add_init_script(LONG_TASKS)
        return work

    def kinds(self, *, without: tuple[str, ...] = ()) -> set[str]:
        """Files and questions, each once: what has changed is asked again. Without files that begin so."""
        asked = (each for each in self.requests.values() if not each.path.startswith(without))
        return {f"{each.path} {each.operation}".strip() for each in asked}

    def has(self, *paths: str) -> bool:
        """Return whether files have come whose paths begin so."""
        return all(
            any(each.path.startswith(path) and each.bytes > 0 for each in self.requests.values()) for path in paths
        )

    def bytes(self, *, without: tuple[str, ...] = ()) -> float:
        """Return what came over the wire, but for files whose paths begin so."""
        return sum(each.bytes for each in self.requests.values() if not each.path.startswith(without))

    def script_seconds(self) -> float:
        """Processor time of the page's scripts."""
        metrics = self._send("Performance.getMetrics")["metrics"]
        return next(float(each["value"]) for each in metrics if each["name"] == "ScriptDuration")

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.session.send(method, parameters)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - playwright says no more than `dict`

    def _sent(self, event: dict[str, Any]) -> None:
        request = event["request"]
        asked = OPERATION.search(request.get("postData", ""))
        path = request["url"].removeprefix(self.origin)
        self.requests[event["requestId"]] = Requested(path, asked[1] if asked else "")

    def _finished(self, event: dict[str, Any]) -> None:
        if event["requestId"] in self.requests:
            self.requests[event["requestId"]].bytes = event["encodedDataLength"]


def longest_task(page: Page) -> float:
    """The longest task of the page until now, in milliseconds; 0 if none took 50."""
    longest: float = page.evaluate("window.longestTask ?? 0")
    return longest


TRACED: Final = ("toplevel", "blink.user_timing")
"""Categories of Chromium's tracing that hold the tasks of threads, and the marks of pages."""


@dataclass(frozen=True)
class Tasks:
    """Tasks of a page, in milliseconds.

    Attributes:
        longest: How long the longest one took by the clock.
        its_work: How much of that the page had a processor.
        most_work: How much processor time the one took that took most.
    """

    longest: float
    its_work: float
    most_work: float

    def __str__(self) -> str:
        return (
            f"longest task {self.longest:.0f} ms by the clock, {self.its_work:.0f} of them on a processor; "
            f"most processor time of a task {self.most_work:.0f} ms"
        )


def mark(page: Page, name: str) -> None:
    """Name a page in a trace."""
    page.evaluate("(name) => { performance.mark(name); }", name)


def tasks_of(trace: bytes, name: str) -> Tasks:
    """The tasks of the page that was marked so while Chromium traced what is ``TRACED``.

    A task that waits for a processor takes long, too. So both are told: the clock, and the time on a processor.
    """
    events: list[dict[str, Any]] = json.loads(trace)["traceEvents"]
    thread = next(((one["pid"], one["tid"]) for one in events if one["name"] == name), None)
    assert thread is not None, f"the trace has no mark '{name}'"
    found = [
        (one["dur"] / 1e3, one.get("tdur", 0) / 1e3)
        for one in events
        if one["name"] == "ThreadControllerImpl::RunTask" and (one["pid"], one["tid"]) == thread and "dur" in one
    ]
    longest, its_work = max(found)
    return Tasks(longest, its_work, max(work for _, work in found))
