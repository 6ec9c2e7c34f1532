"""The primitives of the dashboard, each in its states on one page (`web/src/ui-states.tsx`), which no server has."""

import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page, expect

from node_tools import WEB, find_node
from tests.e2e.test_pages import CUT_OFF, EVERY_LOOK, TOO_SMALL, violations
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until

HELPERS = ("fit", "use-")
"""How modules of `ui/` begin that draw nothing."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and writes no log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the base class has
        """Say nothing."""


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page's server."""
    folder: Path = tmp_path_factory.mktemp("states")
    vite = [find_node().program, str(WEB / "node_modules" / "vite" / "bin" / "vite.js"), "build"]
    command = [*vite, "--config", "ui-states.config.ts", "--outDir", str(folder), "--logLevel", "warn"]
    subprocess.run(command, cwd=WEB, check=True, timeout=50)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def page(states: str, new_page: PageOpener) -> Page:
    """The page, with all that it draws."""
    page = new_page(states)
    # There is no API behind it: this is how primitives look without a connection.
    new_page.watch.allow(r"/graphql|404|501|WebSocket")
    page.goto("/ui-states.html")
    expect(page.locator("[data-primitive=lazy]")).to_contain_text("Its code has come.")
    expect(page.locator("[data-primitive=lazy]")).to_contain_text("cannot be fetched")
    return page


@pytest.mark.costly
def test_every_primitive_is_shown(page: Page) -> None:
    shown = set(page.locator("[data-primitive]").evaluate_all("all => all.map((each) => each.dataset.primitive)"))
    modules = {path.stem for path in (WEB / "src" / "ui").glob("*.ts*") if ".test" not in path.name}
    assert shown == {name for name in modules if not name.startswith(HELPERS)}


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_all_of_them_fit_and_are_accessible_at_every_width_and_in_all_colours(page: Page) -> None:
    for width in (320, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        # Tables fold in the frame after the window has its width.
        wait_until(lambda: page.evaluate(CUT_OFF) == [], message=f"the page to fit {width} px")
        assert page.evaluate(TOO_SMALL) == []
    assert violations(page, looks=EVERY_LOOK) == []


@pytest.mark.costly
@pytest.mark.parametrize("name", ["dialog", "confirm", "form-dialog", "shown-once"])
def test_a_dialog_takes_the_focus_is_accessible_and_gives_it_back(page: Page, name: str) -> None:
    page.set_viewport_size({"width": 320, "height": 640})
    opener = page.get_by_role("button", name=f"Open {name}", exact=True)
    opener.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert dialog.evaluate("(element) => element.contains(document.activeElement)")
    assert violations(page, "dialog") == []
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(opener).to_be_focused()


def test_a_notice_is_announced_and_can_be_closed(page: Page) -> None:
    page.get_by_role("button", name="Say what failed").click()
    notice = page.get_by_role("alert").filter(has_text="It was refused.")
    expect(notice).to_be_visible()
    assert violations(page, ".notices") == []
    notice.get_by_role("button", name="Close message").click()
    expect(notice).to_have_count(0)
