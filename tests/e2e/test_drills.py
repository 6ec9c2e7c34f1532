"""Incidents on a large installation, played as a person does: by looking and clicking, and each click counts."""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from cronograph.jobs.actions.tasks import update_task
from cronograph.jobs.core.actor import Actor, Role
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import job_execution, run
from tests.bench.large_log import Size, fill, settle
from tests.e2e.conftest import MODULE, SOURCE, Site, need_dashboard, start_site
from tests.e2e.test_incident import opened
from tests.e2e.test_truth import enqueue, live
from tests.support.browser import PageOpener
from tests.support.forking import Nursery
from tests.support.history import add_many
from tests.support.page_work import TRACED, mark, tasks_of
from tests.support.ports import free_port
from tests.support.processes import ProcessStarter
from tests.support.schema import migrate
from tests.support.storage import Stored
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.costly, pytest.mark.timeout(240)]

JOBS = """

@job("report", description="Adds up what was sold")
async def report(rows: int = 10) -> int:
    return rows


@job("bill", description="Writes the bills of the day")
async def bill() -> int:
    return 12


@job("ship", description="Sends what was ordered", retries=0)
async def ship(number: int = 0, order: str = "") -> int:
    if not Path("carrier-is-back").exists():
        raise RuntimeError(f"the carrier does not answer, parcel {number}")
    return number


@job("torrent", description="Logs 100,000 lines once the file of that name exists")
async def torrent(gate: str = "torrent-gate") -> None:
    while not Path(gate).exists():
        await asyncio.sleep(0.02)
    for number in range(100_000):
        logging.getLogger("torrent").info("line number %d", number + 1)
        if number % 1_000 == 0:
            await asyncio.sleep(0)
"""

EXECUTIONS: Final = 40_000
"""Rows of the log. A month of a large installation has more; what a page shows and how it is reached is the same."""
BEFORE, SINCE = 2.0, 21.0
"""Seconds that the report took until Tuesday, and since."""


def last_tuesday(now: datetime) -> datetime:
    """The last Tuesday at ten that is at least two days ago, so that there are executions after it."""
    day = (now - timedelta(days=2)).replace(hour=10, minute=0, second=0, microsecond=0)
    return day - timedelta(days=(day.weekday() - 1) % 7)


def put_reports(tx: Tx, task_id: int, first: int, tuesday: datetime, now: datetime) -> None:
    """An execution of the report every two hours from a week before that Tuesday until now."""
    runs: list[dict[str, Any]] = []
    executions: list[dict[str, Any]] = []
    at, number = tuesday - timedelta(days=7), first
    while at < now - timedelta(hours=1):
        took = BEFORE if at < tuesday else SINCE
        shared = {
            "job_name": "report", "task_id": task_id, "task_name": "monthly-report", "attempt": 1, "node_id": 1,
            "trigger": "schedule", "scheduled_for": at, "submitted_at": at, "id": number,
        }  # fmt: skip
        ended = at + timedelta(seconds=took)
        executions.append({
            **shared, "run_id": number, "node": "node-00", "started_at": at, "completed_at": ended, "success": True,
            "outcome": "success", "records_processed": 10, "log_lines": 0, "log_cut": 0,
        })  # fmt: skip
        runs.append({
            **shared, "args": {}, "group_name": "default", "priority": "low", "state": "success", "available_at": at,
            "started_at": at, "finished_at": ended, "failures": 0, "retries": 2, "retry_delay": 60, "exclusive": False,
            "done_attempt": 1, "description": "",
        })  # fmt: skip
        at, number = at + timedelta(hours=2), number + 1
    add_many(tx.conn, run, runs)
    add_many(tx.conn, job_execution, executions)


def change_as(tx: Tx, name: str, changes: Mapping[str, Any]) -> None:
    """Change the report as somebody does by the API: the audit log has it then."""
    tx.actor = Actor(name, Role.OPERATOR)
    update_task(tx, "monthly-report", changes, actor=name)


def furnish(url: str, now: datetime) -> None:
    """A month of 2,000 tasks, and a report that somebody changed on a Tuesday."""
    migrate(url)
    fill(url, Size(EXECUTIONS, unfinished=0, now=now, tasks=2_000, groups=60))
    tuesday = last_tuesday(now)
    with closing(Stored(url)) as stored:
        stored.now = tuesday - timedelta(days=8)
        stored.node("node-of-then", jobs=("report",))
        task = stored.task("0 0 */2 * * *", name="monthly-report", job_name="report", args={"rows": 10})
        stored.do(put_reports, task.id, EXECUTIONS + 10_000, tuesday, now)
        stored.now = tuesday
        stored.do(change_as, "carla", {"args": {"rows": 900}, "enabled": False})
    settle(url)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[Site]:
    """A server with a past."""
    need_dashboard()
    folder = tmp_path_factory.mktemp("drills")
    (folder / f"{MODULE}.py").write_text(SOURCE + JOBS)
    furnish(f"sqlite:///{folder / 'e2e.db'}", datetime.now(UTC))
    starter = ProcessStarter(folder, nursery)
    try:
        yield start_site(folder, starter, free_port())
    finally:
        starter.end_all()


class Hands:
    """The page of a person whose clicks are counted, on the page itself, so that none is forgotten."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.add_init_script("addEventListener('click', (one) => { if (one.isTrusted) window.clicks += 1 }, true)")
        page.add_init_script("window.clicks = 0")

    @property
    def clicks(self) -> int:
        """How many there were since the page was loaded."""
        number: int = self.page.evaluate("window.clicks")
        return number


@pytest.fixture
def hands(site: Site, new_page: PageOpener) -> Hands:
    """Somebody who is called in the night, and opens the dashboard."""
    hands = Hands(new_page(site.url, viewport={"width": 1440, "height": 900}))
    live(hands.page, "/")
    return hands


def test_billing_did_not_run(site: Site, hands: Hands) -> None:
    site.create_task("billing", "bill", group="billing")
    site.ask(
        "mutation($input: PauseGroupInput!) { pauseGroup(input: $input) { errors { message } } }",
        input={"name": "billing", "reason": "the tax rates are being changed"},
    )
    triggered = site.ask('mutation { triggerTask(input: { name: "billing" }) { run { id } } }')["triggerTask"]
    page = hands.page
    verdict = page.get_by_role("region", name="Is anything wrong?")
    # Who, why and what it holds back is said before anything is clicked.
    item = verdict.get_by_role("listitem").filter(has_text="billing")
    expect(item).to_contain_text("the tax rates are being changed")
    expect(item).to_contain_text("holds 1 back")
    item.get_by_role("button", name="Resume").click()
    wait_until(lambda: site.run_state(triggered["run"]["id"]) == "SUCCESS", message="billing to run")
    expect(verdict.get_by_role("listitem").filter(has_text="billing")).to_have_count(0)
    assert hands.clicks <= 3


@pytest.mark.parametrize("term", ["label:customer=4711 ", "arg:reason=customer-4711 "])
def test_the_failed_runs_of_one_customer_are_retried(site: Site, hands: Hands, term: str) -> None:
    kind = term.partition(":")[0]
    made = [
        enqueue(
            site, 3, jobName="broken", retries=0, group=kind, args={"reason": f"customer-{customer}"},
            labels={"customer": customer},
        )
        for customer in ("4711", "4712")
    ]  # fmt: skip
    runs = [one for some in made for one in some]
    wait_until(lambda: {site.run_state(one) for one in runs} == {"FAILED"}, message="all to fail")
    page = hands.page
    page.get_by_role("link", name="Runs", exact=True).click()
    page.get_by_role("navigation", name="State of the runs").get_by_role("button", name="failed").click()
    page.get_by_label("Task or job").fill(f"{term}group:{kind} range:7d ")
    page.get_by_label("Task or job").press("Enter")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("button", name="Run 3 runs again").click()
    page.get_by_role("dialog").get_by_role("button", name="Try them again").click()
    expect(page.locator(".notice").first).to_contain_text("3 runs tried again")
    assert hands.clicks <= 5
    again = site.ask(
        "query($group: String!) { runs(first: 9, filter: { group: { eq: $group } }) { nodes { retriedFrom { id } } } }",
        group=kind,
    )["runs"]["nodes"]
    retried = [one for one in again if one["retriedFrom"] is not None]
    assert {one["retriedFrom"]["id"] for one in retried} == set(made[0])


RUNS_OF_SHIP = 'runs(first: 0, filter: { jobName: { eq: "ship" }, state: { eq: %s } }) { totalCount }'


def test_five_thousand_failures_of_one_error_among_others_are_retried_watched_and_stopped(
    site: Site, hands: Hands
) -> None:
    for first in range(0, 5_000, 1_000):
        runs = [{"jobName": "ship", "group": "ship", "args": {"number": first + one}} for one in range(1_000)]
        site.ask(
            "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { count: runs { id } } }",
            runs=runs,
        )
    enqueue(site, 20, jobName="broken", group="ship", retries=0)
    failed = "{ " + RUNS_OF_SHIP % "FAILED" + " }"
    wait_until(lambda: site.ask(failed)["runs"]["totalCount"] == 5_000, within=90, message="all to fail")
    page = hands.page
    live(page, "/")
    page.get_by_role("region", name="Last failures").get_by_role("link", name=re.compile("carrier")).first.click()
    happened = page.get_by_role("region", name="What happened")
    expect(happened).to_contain_text("5,000 executions of ship failed so")
    (site.folder / "carrier-is-back").touch()
    page.get_by_role("button", name="Retry these runs").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This concerns 5,000 runs")
    dialog.get_by_role("button", name="Try them again").click()
    expect(dialog).to_contain_text(re.compile(r"[1-9]\d* of 5,000"))
    dialog.get_by_role("button", name="Stop").click()
    expect(dialog).to_contain_text("Done by run")
    assert hands.clicks <= 5
    said = re.search(r"([\d,]+) of 5,000 ", dialog.inner_text())
    assert said is not None
    done = int(said[1].replace(",", ""))
    assert 0 < done < 5_000
    # It did what it says, to the failed runs of this error only, and those now succeed.
    made = """query($id: String!) {
      runs(first: 0, filter: { labels: { key: "bulk-action", eq: $id } }) { totalCount }
    }"""
    by = dialog.get_by_role("link", name=re.compile("^run ")).inner_text().removeprefix("run ")
    assert site.ask(made, id=by)["runs"]["totalCount"] == done
    succeeded = "{ " + RUNS_OF_SHIP % "SUCCESS" + " }"
    wait_until(lambda: site.ask(succeeded)["runs"]["totalCount"] == done, within=60, message="the new runs to end")
    assert (
        site.ask('{ runs(first: 0, filter: { jobName: { eq: "broken" }, group: { eq: "ship" } }) { totalCount } }')[
            "runs"
        ]["totalCount"]
        == 20
    )
    # The rest is left: the same action once more takes only those.
    dialog.get_by_role("button", name="Close").last.click()
    page.get_by_role("button", name="Retry these runs").click()
    expect(dialog).to_contain_text(f"This concerns {5_000 - done:,} runs")


def test_a_job_that_is_slow_since_tuesday_shows_the_day_and_the_change(site: Site, hands: Hands) -> None:
    page = hands.page
    page.get_by_role("link", name="Jobs", exact=True).click()
    page.get_by_label("Name or description").fill("report")
    page.get_by_role("link", name="report", exact=True).first.click()
    durations = page.get_by_role("region", name="Durations")
    expect(durations.locator(".change-mark title", has_text="Task monthly-report was changed")).to_have_count(1)
    durations.get_by_role("button", name="show as a table").click()
    tuesday = last_tuesday(datetime.now(UTC))
    row = durations.get_by_role("row")
    expect(row.filter(has_text=f"{tuesday - timedelta(days=1):%Y-%m-%d}")).to_contain_text("2.0 s")
    expect(row.filter(has_text=f"{tuesday + timedelta(days=1):%Y-%m-%d}")).to_contain_text("21.0 s")
    change = page.locator("li.change").filter(has_text="argument rows: 10 → ")
    expect(change).to_contain_text("carla")
    expect(change.get_by_role("button", name="Revert to this")).to_have_count(0)
    assert hands.clicks <= 3


def test_two_people_edit_one_task_and_what_both_wrote_is_kept(site: Site, new_page: PageOpener) -> None:
    site.create_task("ledger", "quick", description="old", retries=1)
    one, other = new_page(site.url), new_page(site.url)
    for page in (one, other):
        opened(page, "ledger")
    one.get_by_label("Description", exact=True).fill("of the first")
    other.get_by_label("Description", exact=True).fill("of the second")
    other.get_by_text("Policies, limits and queue").click()
    other.get_by_label("Group", exact=True).fill("books")
    other.get_by_role("button", name="Save changes").click()
    expect(other.get_by_role("dialog")).to_have_count(0)
    # The open form says so by itself, and one chooses there.
    conflict = one.get_by_role("region", name="Saved by somebody else")
    expect(conflict.get_by_role("row", name="Description")).to_contain_text("of the second")
    one.get_by_role("button", name="Save changes").click()
    expect(conflict.get_by_label("Keep mine: Description")).to_be_focused()
    conflict.get_by_label("Keep mine: Description").check()
    one.get_by_role("button", name="Save changes").click()
    expect(one.get_by_role("dialog")).to_have_count(0)
    found = site.ask('{ task(name: "ledger") { description group } }')["task"]
    assert found == {"description": "of the first", "group": "books"}


def test_the_sentences_of_pages_are_those_of_the_api_after_a_burst(site: Site, hands: Hands) -> None:
    page = hands.page
    live(page, "/jobs/quick")
    enqueue(site, 400, jobName="quick", group="sentences")
    ended = '{ executions(first: 0, filter: { jobName: { eq: "quick" }, outcome: { isNull: false } }) { totalCount } }'
    wait_until(lambda: site.ask(ended)["executions"]["totalCount"] >= 400, message="the burst to end")
    figures = site.ask('{ statistics(jobName: "quick") { count failures } }')["statistics"]
    expect(page.get_by_role("region", name="30 days")).to_contain_text(f"Executions{figures['count']}")
    live(page, "/runs?group=sentences&state=ALL")
    expect(page.get_by_role("group", name="All that match")).to_contain_text("400 runs match")
    live(page, "/groups?q=sentences")
    found = site.ask('{ groups(filter: { name: { eq: "sentences" } }) { nodes { waiting running } } }')["groups"][
        "nodes"
    ]
    for group in found:
        expect(page.locator("tbody tr")).to_contain_text(str(group["waiting"]))


HEAP = 60_000_000
"""Bytes of the page's heap while a job is noisy, and after it."""
ELEMENTS = 15_000
"""Of the page, at most, while 100,000 lines pass: without a bound there were half a million."""
TASK = 100.0
"""Milliseconds on a processor that a task of the page takes at most: nobody notices that it answers later."""


def test_a_noisy_log_costs_a_page_little_memory_few_elements_and_no_long_task(site: Site, hands: Hands) -> None:
    page = hands.page
    noisy = site.trigger("torrent")
    wait_until(lambda: site.execution_of(noisy) is not None, message="it to begin")
    live(page, f"/log/{site.execution_of(noisy)}")
    devtools = page.context.new_cdp_session(page)

    def used() -> float:
        devtools.send("HeapProfiler.collectGarbage")
        size: float = devtools.send("Runtime.getHeapUsage")["usedSize"]
        return size

    browser = page.context.browser
    assert browser is not None
    most, elements = used(), 0
    browser.start_tracing(categories=[*TRACED])
    mark(page, "noisy")
    site.open_gate("torrent-gate")
    while site.run_state(noisy) == "RUNNING":
        most, elements = max(most, used()), max(elements, page.locator("*").count())
    expect(page.locator(".log-bar")).to_contain_text("100,000 lines, 90,000 cut · ended")
    expect(page.locator("#L100000")).to_be_in_viewport()
    tasks = tasks_of(browser.stop_tracing(), "noisy")
    assert tasks.most_work < TASK, tasks
    assert max(most, used()) < HEAP
    assert max(elements, page.locator("*").count()) < ELEMENTS
