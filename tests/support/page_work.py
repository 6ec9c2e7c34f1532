"""What a page asks of the network and of the processor until it is complete, as Chromium itself counts it."""

import re
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import CDPSession, Page

CODE = {
    "overview": ("",),
    "lists": ("tasks", "runs", "log"),
    "more": ("jobs", "groups", "nodes"),
    "admin": (),
    "alarms": ("alarms",),
    "later": ("tasks", "runs", "log", "jobs", "groups", "nodes", "alarms"),
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
