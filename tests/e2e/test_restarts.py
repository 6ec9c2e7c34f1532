"""Every page, open at once in one browser, while its server dies and comes back again and again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import MODULE, SOURCE, Site, need_dashboard, start_site
from tests.support.browser import BrowserWatch, PageOpener
from tests.support.forking import Nursery
from tests.support.ports import free_port
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until

LIVES = 3
OVERVIEW, LOG, RUNS, TASK = "/", "/log?job=quick", "/runs?state=success&q=quick", "/tasks/steady"
EXECUTION, RUN, NODES = "/log/1", "/runs/1", "/nodes"
PAGES = (OVERVIEW, LOG, RUNS, TASK, EXECUTION, RUN, NODES, "/tasks", "/jobs", "/groups", "/settings", "/audit")

TWICE = """() => [...document.querySelectorAll('table.table')].flatMap((table) => {
  const ids = [...table.querySelectorAll('tr[data-id]')].map((row) => row.dataset.id)
  return ids.filter((id, place) => ids.indexOf(id) !== place)
})"""


@pytest.fixture
def starter(tmp_path: Path, nursery: Nursery) -> Iterator[ProcessStarter]:
    """Starts servers with the jobs of these tests."""
    need_dashboard()
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    starter = ProcessStarter(tmp_path, nursery)
    yield starter
    starter.end_all()


def ran(site: Site) -> tuple[str, str]:
    """The ids of a run that has succeeded behind the pages' back, and of its execution."""
    run = site.trigger("quick")
    wait_until(lambda: site.run_state(run) == "SUCCESS", message="the run to succeed")
    execution = site.execution_of(run)
    assert execution is not None
    return run, execution


def true_state(tabs: dict[str, Page], site: Site, run: str, execution: str, number: int) -> None:
    """Each page shows what the server knows."""
    newest = tabs[OVERVIEW].get_by_role("region", name="Newest executions").locator("tbody tr", has_text="quick")
    expect(newest.first).to_contain_text(f"#{execution}")
    expect(tabs[LOG].locator("tbody tr").first).to_contain_text(f"#{execution}")
    expect(tabs[LOG].locator("tbody tr")).to_have_count(number)
    expect(tabs[RUNS].locator("tbody tr").first).to_contain_text(run)
    expect(tabs[RUNS].locator("tbody tr")).to_have_count(number)
    reason = site.task("steady")["pauseReason"]
    expect(tabs[TASK].get_by_role("region", name="What happens next")).to_contain_text(reason)
    for path in (EXECUTION, RUN):
        expect(tabs[path].get_by_role("heading", level=1)).to_contain_text("success")
    (alive,) = site.ask("{ nodes { nodes { name state } } }")["nodes"]["nodes"][:1]
    expect(tabs[NODES].locator("tbody tr", has_text=alive["name"])).to_contain_text("active")
    expect(tabs[NODES].locator("tbody tr", has_text="active")).to_have_count(1)


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_pages_show_the_true_state_each_time_the_server_comes_back(
    tmp_path: Path, starter: ProcessStarter, browser_watch: BrowserWatch, new_page: PageOpener
) -> None:
    browser_watch.allow(r"WebSocket connection|ERR_CONNECTION_REFUSED|Failed to load resource|ERR_INCOMPLETE")
    site = start_site(tmp_path, starter, free_port())
    site.create_task("steady", "quick")
    ran(site)
    first = new_page(site.url)
    asked: list[str] = []
    tabs = {path: first if path == PAGES[0] else first.context.new_page() for path in PAGES}
    for path, tab in tabs.items():
        tab.on("dialog", lambda dialog: asked.append(dialog.message))
        tab.goto(path if tab is first else f"{site.url}{path}")
        expect(tab.locator(".pill")).to_have_text("live")
        expect(tab.locator(".skeleton")).to_have_count(0)
    for life in range(LIVES):
        site.process.kill()
        for tab in tabs.values():
            expect(tab.locator(".pill")).not_to_have_text("live")
        site = start_site(tmp_path, starter, site.process.port)
        run, execution = ran(site)
        pause = (
            'mutation($reason: String!) { pauseTask(input: { name: "steady", reason: $reason }) { errors { code } } }'
        )
        site.ask(pause, reason=f"life {life}")
        true_state(tabs, site, run, execution, life + 2)
        for path, tab in tabs.items():
            expect(tab.locator(".pill")).to_have_text("live")
            expect(tab.get_by_role("alert")).to_have_count(0)
            expect(tab.get_by_role("dialog")).to_have_count(0)
            assert tab.evaluate(TWICE) == [], path
    assert asked == []
    lost = first.get_by_role("region", name="Is anything wrong?").get_by_role("listitem").filter(has_text="was lost")
    expect(lost).to_have_count(LIVES)
    node = lost.first.locator(".attention-name").inner_text()
    lost.first.get_by_role("link", name="What it ran").click()
    expect(first).to_have_url(f"{site.url}/log?node={node.replace(':', '%3A')}")
    expect(first.locator("tbody tr").first).to_contain_text("quick")
    for tab in list(tabs.values())[1:]:
        tab.close()
