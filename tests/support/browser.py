"""A real headless Chromium: every console error and every request to another origin fails the test.

The browser is Debian's (`apt-get install chromium`; `make test` sees to it) or the one that
`CRONOGRAPH_TEST_CHROMIUM` names. Playwright's synchronous interface keeps an event loop running in this thread,
so the browser lives for one test module only: async tests elsewhere are not disturbed.
"""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    ViewportSize,
    expect,
    sync_playwright,
)

from .requirements import unavailable

ColorScheme = Literal["dark", "light", "no-preference"]
ReducedMotion = Literal["no-preference", "reduce"]

CANDIDATES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Names under which a Chromium is found on the search path."""

LAUNCH_OPTIONS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking"]
"""As root there is no sandbox; the others keep Chromium small and silent."""


@dataclass
class BrowserWatch:
    """What went wrong in the pages of one test; `allow` names what the test provokes on purpose."""

    origins: set[str] = field(default_factory=set[str])
    problems: list[str] = field(default_factory=list[str])
    allowed: list[re.Pattern[str]] = field(default_factory=list[re.Pattern[str]])

    def allow(self, pattern: str) -> None:
        """Ignore problems whose text matches this regular expression, such as a lost connection."""
        self.allowed.append(re.compile(pattern))

    def watch(self, page: Page) -> None:
        """Note what goes wrong in this page from now on."""
        page.on("console", self._on_console)
        page.on("pageerror", self._on_error)
        page.on("request", self._on_request)
        page.on("websocket", lambda socket: self._on_address(socket.url, "WebSocket"))

    def remaining(self) -> list[str]:
        """The problems that were not allowed."""
        return [text for text in self.problems if not any(pattern.search(text) for pattern in self.allowed)]

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.problems.append(f"console error: {message.text} ({message.location.get('url', '')})")

    def _on_error(self, error: Error) -> None:
        self.problems.append(f"uncaught error: {error}")

    def _on_request(self, request: Request) -> None:
        self._on_address(request.url, request.resource_type)

    def _on_address(self, url: str, kind: str) -> None:
        parts = urlsplit(url)
        scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
        if scheme in {"http", "https"} and f"{scheme}://{parts.netloc}" not in self.origins:
            self.problems.append(f"request to another origin: {kind} {url}")


def find_chromium() -> str | None:
    """The path of a Chromium on this machine."""
    chosen = os.environ.get("CRONOGRAPH_TEST_CHROMIUM")
    return chosen or next((path for name in CANDIDATES if (path := shutil.which(name))), None)


PATIENCE = 30_000.0
"""Milliseconds: how long a page may take to show what is expected, on a machine that does everything else too."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium, started once per test module."""
    path = find_chromium()
    if path is None:
        unavailable("Chromium", "apt-get install chromium, or name one in CRONOGRAPH_TEST_CHROMIUM")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=LAUNCH_OPTIONS)
        yield started
        started.close()


@pytest.fixture
def browser_watch() -> Iterator[BrowserWatch]:
    """The watch over this test's pages; the test fails at its end when a problem is left."""
    watch = BrowserWatch()
    yield watch
    assert watch.remaining() == []


@dataclass
class PageOpener:
    """Opens watched pages, each with a context (cookies, storage) of its own."""

    browser: Browser
    watch: BrowserWatch
    contexts: list[BrowserContext] = field(default_factory=list[BrowserContext])

    def __call__(
        self,
        origin: str,
        *,
        viewport: ViewportSize | None = None,
        color_scheme: ColorScheme = "light",
        timezone_id: str = "Europe/Berlin",
        reduced_motion: ReducedMotion = "reduce",
    ) -> Page:
        """Open a page whose relative addresses start at `origin`, such as `http://127.0.0.1:8080`."""
        self.watch.origins.add(origin.rstrip("/"))
        context = self.browser.new_context(
            base_url=origin,
            viewport=viewport or {"width": 1280, "height": 800},
            color_scheme=color_scheme,
            timezone_id=timezone_id,
            reduced_motion=reduced_motion,
            locale="en-GB",
        )
        self.contexts.append(context)
        page = context.new_page()
        self.watch.watch(page)
        return page


@pytest.fixture
def new_page(browser: Browser, browser_watch: BrowserWatch) -> Iterator[PageOpener]:
    """Opens watched pages; their contexts are closed after the test."""
    opener = PageOpener(browser, browser_watch)
    yield opener
    for context in opener.contexts:
        context.close()
