"""The dashboard of a Cronograph that an application has mounted under a path."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import uvicorn
from playwright.sync_api import Page, expect
from starlette.applications import Starlette
from starlette.routing import Mount

from cronograph.jobs import job
from cronograph.jobs.registry import Registry
from cronograph.server import Cronograph
from tests.support.ports import free_port
from tests.support.waiting import wait_until

JOBS = Registry()
PATH = "/ops/jobs"


@job(registry=JOBS, schedule="0 0 0 1 1 *")
async def greet() -> int:
    """Greets once a year."""
    return 3


@dataclass
class Application:
    """Somebody's application, served in a thread of its own."""

    database_url: str
    port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        cron = Cronograph(self.database_url, jobs=[greet], no_auth=True)

        @asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
            async with cron:
                yield

        app = Starlette(routes=[Mount(PATH, app=cron.asgi)], lifespan=lifespan)
        self.server = uvicorn.Server(uvicorn.Config(app, port=self.port, log_config=None))
        self.thread = threading.Thread(target=lambda: asyncio.run(self.server.serve()))

    @property
    def origin(self) -> str:
        """Where the application is."""
        return f"http://localhost:{self.port}"

    @property
    def url(self) -> str:
        """Where the dashboard is."""
        return self.origin + PATH


@pytest.fixture
def application(empty_sqlite_url: str) -> Iterator[Application]:
    """An application that serves."""
    made = Application(empty_sqlite_url)
    made.thread.start()
    wait_until(lambda: made.server.started, message="the application to serve")
    yield made
    made.server.should_exit = True
    made.thread.join()


@pytest.mark.browser
def test_everything_is_found_below_the_path(application: Application, new_page: Callable[..., Page]) -> None:
    page = new_page(application.origin)
    page.goto(f"{application.url}/")
    page.get_by_role("link", name="Tasks", exact=True).click()
    expect(page).to_have_url(f"{application.url}/tasks")
    page.get_by_role("link", name="greet").first.click()
    expect(page).to_have_url(f"{application.url}/tasks/greet")
    page.reload()
    expect(page.get_by_role("heading", name="greet")).to_be_visible()
    page.get_by_role("button", name="Run now").click()
    # Told by the WebSocket.
    expect(page.get_by_text("success").first).to_be_visible(timeout=60_000)
    page.go_back()
    expect(page).to_have_url(f"{application.url}/tasks")
    page.goto(f"{application.url}/graphiql")
    expect(page.locator(".graphiql-container")).to_be_visible(timeout=60_000)
    expect(page.locator("a.explorer-home")).to_have_attribute("href", f"{PATH}/")
