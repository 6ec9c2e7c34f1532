"""A comparison of which one side still runs: it grows with it, as the log beside does."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Site, site_with
from tests.support.browser import PageOpener
from tests.support.forking import Nursery
from tests.support.waiting import wait_until

STAGED = """

@job("staged", description="Says a line and takes a step whenever the next file exists")
async def staged(ctx: JobContext, gates: str = "gate", fails: bool = False) -> int:
    for stage in ("load", "sort", "send"):
        await ctx.step(stage, lambda: stage)
        logging.getLogger("staged").info("%s is done", stage)
        while not ctx.should_stop and not Path(f"{gates}-{stage}").exists():
            await asyncio.sleep(0.02)
        if fails and ctx.attempt == 1:
            raise RuntimeError("the first attempt has no luck")
    return 3
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[Site]:
    """A server with a job that goes on step by step."""
    with site_with(tmp_path_factory.mktemp("dashboard"), nursery, STAGED) as site:
        yield site


def rows(page: Page) -> Locator:
    """The lines of the comparison."""
    return page.get_by_role("region", name="Comparison").get_by_role("row")


def begun(site: Site, gates: str) -> str:
    """A run whose first step is done, and which waits for the gate behind it."""
    run = site.trigger("staged", gates=gates)
    wait_until(lambda: site.run_state(run) == "RUNNING", message="the run to begin")
    return run


def over(site: Site) -> str:
    """A run that has gone through all gates."""
    for stage in ("load", "sort", "send"):
        site.open_gate(f"open-{stage}")
    run = site.trigger("staged", gates="open")
    wait_until(lambda: site.run_state(run) == "SUCCESS", message="the run to end")
    return run


def grows(page: Page, site: Site, gates: str, value: int) -> None:
    """What column `value` of the comparison shows grows with its run, and says how that ended."""
    took = rows(page).filter(has_text="Took").locator("td").nth(value)
    expect(took).to_have_text(re.compile(r"^\d.* so far"))
    first = took.inner_text()
    expect(took).not_to_have_text(first)
    expect(rows(page).filter(has_text="Step sort").locator("td").nth(value)).to_have_text("–")
    site.open_gate(f"{gates}-load")
    expect(rows(page).filter(has_text="Step sort")).to_have_count(0)
    site.open_gate(f"{gates}-sort")
    expect(rows(page).filter(has_text="Step send")).to_have_count(0)
    expect(took).to_have_text(re.compile("so far"))
    site.open_gate(f"{gates}-send")
    expect(rows(page).filter(has_text="so far")).to_have_count(0)


@pytest.mark.costly
def test_a_run_that_goes_on_is_compared_live_and_its_log_grows_beside(site: Site, new_page: PageOpener) -> None:
    other, run = over(site), begun(site, "left")
    page = new_page(site.url)
    page.goto(f"/runs/{run}?with={other}")
    log = page.get_by_role("log")
    expect(log).to_contain_text("load is done")
    expect(log).not_to_contain_text("sort is done")
    expect(rows(page).filter(has_text="Outcome")).to_have_text(re.compile("running.*success"))
    grows(page, site, "left", 0)
    expect(log).to_contain_text("send is done")
    expect(rows(page).filter(has_text="Outcome")).to_have_count(0)


@pytest.mark.costly
def test_a_run_that_goes_on_grows_as_the_other_side_too(site: Site, new_page: PageOpener) -> None:
    run, other = over(site), begun(site, "right")
    page = new_page(site.url)
    page.goto(f"/runs/{run}?with={other}")
    expect(rows(page).filter(has_text="Outcome")).to_have_text(re.compile("success.*running"))
    grows(page, site, "right", 1)


@pytest.mark.costly
def test_an_attempt_is_compared_with_a_later_one_as_it_runs(site: Site, new_page: PageOpener) -> None:
    site.open_gate("again-load")
    create = "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { runs { id } } }"
    spec = {"jobName": "staged", "args": {"gates": "again", "fails": True}, "retries": 1, "retryDelay": 0.05}
    run = site.ask(create, runs=[spec])["enqueueRuns"]["runs"][0]["id"]
    page = new_page(site.url)
    page.goto(f"/runs/{run}?attempt=1&with={run}.2")
    expect(rows(page).filter(has_text="Outcome")).to_have_text(re.compile("failed.*running"))
    took = rows(page).filter(has_text="Took").locator("td").nth(1)
    expect(took).to_have_text(re.compile("so far"))
    for stage in ("sort", "send"):
        site.open_gate(f"again-{stage}")
    expect(rows(page).filter(has_text="Outcome")).to_have_text(re.compile("failed.*success"))
    expect(rows(page).filter(has_text="so far")).to_have_count(0)
