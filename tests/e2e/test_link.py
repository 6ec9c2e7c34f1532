"""A page never pretends to be live: it says that the connection is lost, stands still, and catches up."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import MODULE, SOURCE, Site, need_dashboard, start_site
from tests.e2e.test_pages import violations
from tests.support.browser import BrowserWatch, PageOpener
from tests.support.forking import Nursery
from tests.support.ports import free_port
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until


@pytest.fixture
def mortal(tmp_path: Path, nursery: Nursery) -> Iterator[tuple[Site, ProcessStarter]]:
    """A server that the test may end and start again on its port."""
    need_dashboard()
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    starter = ProcessStarter(tmp_path, nursery)
    yield start_site(tmp_path, starter, free_port()), starter
    starter.end_all()


@pytest.fixture
def tolerant(browser_watch: BrowserWatch) -> BrowserWatch:
    """Lets the browser complain about the connection that the test cuts."""
    browser_watch.allow(r"WebSocket connection|ERR_CONNECTION_REFUSED|Failed to load resource|ERR_INCOMPLETE")
    return browser_watch


@pytest.mark.costly
def test_a_lost_connection_is_said_and_what_happened_meanwhile_shows_afterwards(
    mortal: tuple[Site, ProcessStarter], tolerant: BrowserWatch, new_page: PageOpener
) -> None:
    site, starter = mortal
    site.create_task("comes-next", "quick")
    page = new_page(site.url)
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    page.goto("/")
    pill = page.locator(".pill")
    expect(pill).to_have_text("live")
    site.trigger("quick")
    # Not those of the clean-ups, which may come due meanwhile.
    rows = page.get_by_role("region", name="Newest executions").locator("tbody tr", has_text=re.compile("quick|broken"))
    expect(rows).to_have_count(1)
    # Each part of the page asks for itself: this one must have its answer too, or it has nothing to keep.
    expect(page.locator(".next-item button").first).to_be_enabled()
    site.process.kill()
    expect(pill).to_contain_text("reconnecting")
    expect(rows).to_have_count(1)
    expect(page.locator(".tile").first).to_contain_text("as of")
    expect(page.locator(".next-item button").first).to_be_disabled()
    # What is out of date is still legible, and a phone shows the state of the link, too.
    page.set_viewport_size({"width": 320, "height": 640})
    expect(pill.locator(".icon")).to_be_visible()
    assert violations(page, looks=((320, "dark", "none"), (1280, "light", "none"))) == []
    back = start_site(site.folder, starter, site.process.port)
    back.trigger("broken", reason="behind your back")
    expect(pill).to_have_text("live")
    expect(rows.first).to_contain_text("behind your back")
    expect(rows).to_have_count(2)
    expect(page.locator(".tile").first).to_contain_text("right now")
    expect(page.locator(".next-item button").first).to_be_enabled()
    # None was tried while nobody was there: browsers let those wait who fail to open them.
    assert len(sockets) == 2


@pytest.mark.costly
def test_timers_stand_still_while_the_connection_is_down(
    mortal: tuple[Site, ProcessStarter], tolerant: BrowserWatch, new_page: PageOpener
) -> None:
    site, _ = mortal
    page = new_page(site.url)
    page.goto("/")
    site.trigger("gated")
    elapsed = page.get_by_role("region", name="Running now").locator(".run-elapsed .num")
    expect(elapsed).to_have_text(re.compile(r"^\d+ s$"))
    site.process.kill()
    expect(elapsed).to_have_class("num frozen")
    stopped_at = elapsed.text_content()
    expect(page.locator(".pill")).to_contain_text("offline since")
    assert elapsed.text_content() == stopped_at


@pytest.mark.costly
def test_a_page_opened_without_a_server_recovers_by_itself(
    mortal: tuple[Site, ProcessStarter], tolerant: BrowserWatch, new_page: PageOpener
) -> None:
    site, starter = mortal
    page = new_page(site.url)
    page.goto("/")
    expect(page.locator(".pill")).to_have_text("live")
    run = site.trigger("gated")
    wait_until(lambda: site.run_state(run) == "RUNNING", message="the run to begin")
    site.process.terminate()
    expect(page.locator(".pill")).to_have_text("draining")
    site.open_gate()
    expect(page.locator(".pill")).to_contain_text("server stopped, reconnecting")
    assert site.process.wait() == 0
    page.get_by_role("link", name="Nodes").click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    start_site(site.folder, starter, site.process.port)
    expect(page.get_by_role("region", name="Nodes").locator("tbody tr").first).to_contain_text("active")
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.costly
def test_the_banner_says_what_is_worst(
    mortal: tuple[Site, ProcessStarter], tolerant: BrowserWatch, new_page: PageOpener
) -> None:
    site, starter = mortal
    site.create_task("comes-next", "quick")
    page = new_page(site.url)
    page.goto("/")
    expect(page.locator(".next-item").first).to_be_visible()
    expect(page.locator(".banner")).to_have_count(0)
    site.ask('mutation { pauseGroup(input: { name: "lost" }) { errors { message } } }')
    runs = [{"jobName": "chatty", "group": "lost"}] * 3
    site.ask(
        "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { errors { code } } }", runs=runs
    )
    assert site.process.stop() == 0
    # The next release does without that job.
    module = site.folder / f"{MODULE}.py"
    module.write_text(module.read_text().replace('@job("chatty"', '@job("talkative"'))
    start_site(site.folder, starter, site.process.port)
    banner = page.locator(".banner")
    expect(banner).to_have_text("3 runs wait because no node knows chatty")
    banner.click()
    expect(page.locator("table.runs tbody tr")).to_have_count(3)
