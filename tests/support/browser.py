"""A real headless Chromium: every console error and every request to another origin fails the test.

The browser is Debian's (`apt-get install chromium-headless-shell`; `make test` sees to it) or the one that
`CRONOGRAPH_TEST_CHROMIUM` names. Playwright's synchronous interface keeps an event loop running in this thread,
so the browser lives only as long as each test asks for it: async tests elsewhere are not disturbed.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    CDPSession,
    ConsoleMessage,
    Error,
    Page,
    Request,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.support.requirements import unavailable
from tests.support.sources import ROOT

DOCUMENTS = ROOT / "server" / "static" / "documents.json"
"""The documents that the dashboard sends, by hash."""

ColorScheme = Literal["dark", "light", "no-preference"]
ForcedColors = Literal["active", "none"]
ReducedMotion = Literal["no-preference", "reduce"]

CANDIDATES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Names under which a Chromium is found on the search path. The first is the same engine without the browser's own
windows: a page takes two thirds of the processor time there."""

LAUNCH_OPTIONS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--process-per-site",
    "--in-process-gpu",
]
"""As root there is no sandbox; the others keep Chromium small and silent: drawing in the browser's own process saves a
fifth of what a page costs."""


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


REMEDY = "apt-get install chromium-headless-shell, or name one in CRONOGRAPH_TEST_CHROMIUM"

PATIENCE = 45_000.0
"""Milliseconds: how long a page may take to show what is expected, on a machine that does everything else too.

The limit of a test is longer: by it the test would end without a word of what the page showed instead.
"""


@pytest.fixture
def browser_watch() -> Iterator[BrowserWatch]:
    """The watch over this test's pages; the test fails at its end when a problem is left."""
    watch = BrowserWatch()
    yield watch
    assert watch.remaining() == []


STORED = "cookies,local_storage,indexeddb,service_workers,cache_storage"
"""What is forgotten between two tests."""


@dataclass
class Contexts:
    """The browser, and contexts (cookies, storage, cache) that the tests of a module use in turn.

    To start it takes more than most tests do, so those that follow each other share one. A page in a new context costs
    twice to four times what it costs in one that has been used: nothing is cached yet.
    """

    running: ExitStack = field(default_factory=ExitStack)
    browser: Browser | None = None
    kept: dict[tuple[str, str, bool], tuple[Page, CDPSession]] = field(
        default_factory=dict[tuple[str, str, bool], tuple[Page, CDPSession]]
    )

    def start(self) -> Browser:
        """The browser, started unless it runs; skips (under CI: fails) where there is none."""
        if self.browser is None:
            path = find_chromium()
            if path is None:
                unavailable("Chromium", REMEDY)
            expect.set_options(timeout=PATIENCE)
            playwright = self.running.enter_context(sync_playwright())
            self.browser = playwright.chromium.launch(executable_path=path, args=LAUNCH_OPTIONS)
            self.running.callback(self.browser.close)
        return self.browser

    def stop(self) -> None:
        """End the browser, and with it the event loop, if it runs."""
        self.kept.clear()
        self.browser = None
        self.running.close()

    def make(self, origin: str, timezone_id: str, touch: bool) -> BrowserContext:
        """A new one, for its user to close."""
        # Certificates of tests are trusted by nobody.
        own = origin.startswith("https:")
        return self.start().new_context(
            base_url=origin, timezone_id=timezone_id, locale="en-GB", ignore_https_errors=own, has_touch=touch
        )

    def lend(self, origin: str, timezone_id: str, touch: bool) -> BrowserContext:
        """One that remembers nothing but files."""
        key = (origin, timezone_id, touch)
        if key not in self.kept:
            context = self.make(origin, timezone_id, touch)
            # A page of the same site stays open: the next ones begin in its process, which has compiled their files.
            page = context.new_page()
            page.goto("/health/live")
            self.kept[key] = page, context.new_cdp_session(page)
        page, session = self.kept[key]
        page.context.clear_cookies()
        # By the page too: its process holds a copy of the storage, which hears of what is deleted elsewhere only later.
        page.evaluate("localStorage.clear()")
        session.send(  # pyright: ignore[reportUnknownMemberType] - playwright says no more than `dict`
            "Storage.clearDataForOrigin", {"origin": origin.rstrip("/"), "storageTypes": STORED}
        )
        return page.context

    def forget(self) -> None:
        """Close what was kept: the next module has servers of its own."""
        for page, _ in self.kept.values():
            page.context.close()
        self.kept.clear()


_CONTEXTS = pytest.StashKey[Contexts]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """End the browser before a test that does not ask for it."""
    contexts = item.session.stash.get(_CONTEXTS, None)
    names: list[str] = getattr(item, "fixturenames", [])
    if contexts is not None and "contexts" not in names:
        contexts.stop()


@pytest.fixture(scope="session")
def _contexts_of_all(request: pytest.FixtureRequest) -> Iterator[Contexts]:
    contexts = request.session.stash[_CONTEXTS] = Contexts()
    yield contexts
    contexts.stop()


@pytest.fixture(scope="module")
def contexts(_contexts_of_all: Contexts) -> Iterator[Contexts]:
    """The browser of these tests and its contexts, which end with the module."""
    yield _contexts_of_all
    _contexts_of_all.forget()


@dataclass
class PageOpener:
    """Opens watched pages, each with cookies and storage of its own."""

    contexts: Contexts
    watch: BrowserWatch
    pages: list[Page] = field(default_factory=list[Page])
    own: list[BrowserContext] = field(default_factory=list[BrowserContext])

    def __call__(
        self,
        origin: str,
        *,
        viewport: ViewportSize | None = None,
        color_scheme: ColorScheme = "light",
        timezone_id: str = "Europe/Berlin",
        reduced_motion: ReducedMotion = "reduce",
        first_visit: bool = False,
        touch: bool = False,
    ) -> Page:
        """Open a page whose relative addresses start at `origin`, such as `http://127.0.0.1:8080`.

        With `first_visit` the browser has no file of that origin in its cache; with `touch` it has a finger, too.
        """
        self.watch.origins.add(origin.rstrip("/"))
        if first_visit or self.pages:
            context = self.contexts.make(origin, timezone_id, touch)
            self.own.append(context)
        else:
            context = self.contexts.lend(origin, timezone_id, touch)
        page = context.new_page()
        self.pages.append(page)
        page.set_default_timeout(PATIENCE)
        page.set_viewport_size(viewport or {"width": 1280, "height": 800})
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        self.watch.watch(page)
        return page

    def close(self) -> None:
        """Close the pages."""
        for page in self.pages:
            page.close()
        for context in self.own:
            context.close()


@pytest.fixture
def new_page(contexts: Contexts, browser_watch: BrowserWatch) -> Iterator[PageOpener]:
    """Opens watched pages, which are closed after the test."""
    opener = PageOpener(contexts, browser_watch)
    yield opener
    opener.close()


def asked_document(body: str | bytes | None) -> str:
    """Return the text of the document that a request of the dashboard holds, or names by its hash; empty for others."""
    asked: dict[str, Any] = json.loads(body or "{}")
    hashed = asked.get("documentId", "").removeprefix("sha256:")
    return str(json.loads(DOCUMENTS.read_text())[hashed] if hashed else asked.get("query", ""))
