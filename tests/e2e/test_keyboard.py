"""All of the dashboard by keyboard alone, with two nodes on PostgreSQL, and by mouse, with one on SQLite."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import MODULE, SOURCE, Site, need_dashboard
from tests.e2e.hands import Hands
from tests.support.browser import PageOpener
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until


@pytest.fixture
def cluster(tmp_path: Path, processes: ProcessStarter, postgres_url: str) -> Site:
    """The first of two nodes on PostgreSQL."""
    need_dashboard()
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    nodes = [processes.begin_serve(postgres_url, "--jobs", MODULE) for _ in range(2)]
    first, _ = [node.wait_ready() for node in nodes]
    return Site(first, tmp_path)


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_everything_is_done_by_keyboard_alone(cluster: Site, new_page: PageOpener) -> None:
    page = new_page(cluster.url)
    hands = Hands(page)
    page.goto("/")
    expect(page.locator(".pill")).to_have_text("live")
    make_a_task(page, hands)
    run_and_pause_it(page, hands, cluster)
    look_through_the_log(page, hands)
    act_on_many_runs(page, hands, cluster)
    steer_groups_and_nodes(page, hands, cluster)
    go_by_palette(page, hands)
    choose_zone_and_theme(page, hands)


def go_by_palette(page: Page, hands: Hands) -> None:
    """Any page, task and number, and what the open page offers, by what it is called."""
    palette = page.get_by_role("dialog", name="Go to…")
    field, options = palette.get_by_role("combobox"), palette.get_by_role("option")

    def go(typed: str, first: str, *moves: str) -> None:
        hands.press("Control+k")
        expect(field).to_be_focused()
        page.keyboard.type(typed)
        expect(options.first).to_contain_text(first)
        hands.press(*moves, "Enter")
        expect(palette).to_have_count(0)

    go("audit", "Audit")
    hands.arrive("Audit")
    go("by-hand", "by-hand")
    hands.arrive("by-hand")
    go("pause", "Pause")
    expect(page.get_by_role("dialog", name="Pause by-hand").get_by_label("Reason")).to_be_focused()
    hands.press("Escape")
    go("1", "Run 1", "ArrowDown")
    expect(page).to_have_url(re.compile("/runs/[0-9]+[?]attempt=1$"))
    hands.press("Control+k")
    page.keyboard.type("there is nothing called so")
    expect(palette.get_by_role("status")).to_have_text("Nothing here is called that.")
    hands.press("Escape")
    expect(palette).to_have_count(0)


def make_a_task(page: Page, hands: Hands) -> None:
    """The form, with the server's judgement while one types."""
    hands.press("g", "t")
    hands.arrive("Tasks")
    hands.use(page.get_by_role("button", name="New task"))
    form = page.get_by_role("dialog")
    expect(form.get_by_label("Name", exact=True)).to_be_focused()
    hands.write(form.get_by_label("Name", exact=True), "by-hand")
    hands.write(form.get_by_label("Job", exact=True), "quick")
    hands.write(form.get_by_label("When", exact=True), "0 0 0 30 2 *")
    expect(form.locator(".fault")).to_contain_text("never fires")
    hands.write(form.get_by_label("When", exact=True), "0 30 9 1 1 *")
    expect(form.locator(".next-times tbody tr")).to_have_count(3)
    hands.press("Enter")
    expect(form).to_have_count(0)
    expect(page.locator("tbody tr", has_text="by-hand")).to_have_count(1)


def run_and_pause_it(page: Page, hands: Hands, cluster: Site) -> None:
    """The row, the page of the task, and why it runs or not."""
    hands.press("/")
    page.keyboard.type("by-hand")
    expect(page.locator("tbody tr")).to_have_count(1)
    hands.press("Escape", "j", "r")
    row = page.locator("tbody tr", has_text="by-hand")
    expect(row).to_contain_text("success")
    hands.press("j", "Enter")
    hands.arrive("by-hand")
    expect(page.get_by_role("region", name="Executions").locator("tbody tr")).to_have_count(1)
    hands.use(page.get_by_role("button", name="Pause", exact=True))
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("at lunch")
    hands.press("Enter")
    expect(page.get_by_role("region", name="What happens next")).to_contain_text("at lunch")
    hands.use(page.get_by_role("button", name="Resume", exact=True))
    wait_until(lambda: cluster.task("by-hand")["pausedAt"] is None, message="the task to go on")


def look_through_the_log(page: Page, hands: Hands) -> None:
    """Filters, an execution with its arguments, and another one with others."""
    hands.press("g", "l")
    hands.arrive("Execution log")
    hands.press("/")
    page.keyboard.type("quick")
    # The filter takes effect when one pauses; the list may have had one row before.
    expect(page).to_have_url(re.compile(r"/log\?.*quick"))
    expect(page.locator("tbody tr")).to_have_count(1)
    hands.press("Escape", "j", "Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("success")
    hands.use(page.get_by_role("button", name="Run again with…"))
    hands.write(page.get_by_role("dialog").get_by_label("batch"), "99")
    hands.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("region", name="Arguments")).to_contain_text("99")
    hands.press("g", "l")
    hands.arrive("Execution log")
    expect(page.locator("tbody tr", has_text="quick")).to_have_count(2)


def act_on_many_runs(page: Page, hands: Hands, cluster: Site) -> None:
    """What waits is changed, chosen and cancelled."""
    cluster.ask('mutation { pauseGroup(input: { name: "halted" }) { errors { message } } }')
    runs = '[{ jobName: "quick", group: "halted" }, { jobName: "quick", group: "halted" }]'
    made = cluster.ask(f"mutation {{ enqueueRuns(input: {{ runs: {runs} }}) {{ runs {{ id }} }} }}")["enqueueRuns"][
        "runs"
    ]
    first, second = (run["id"] for run in made)
    hands.press("g", "r")
    hands.arrive("Runs")
    expect(page.locator("tbody tr")).to_have_count(2)
    hands.walk_to(page.locator(f"tbody tr[data-id='{first}']"))
    hands.press("Enter")
    hands.arrive(f"Run {first}")
    hands.use(page.get_by_role("button", name="Change"))
    hands.write(page.get_by_role("dialog").get_by_label("batch"), "5")
    hands.press("Enter")
    expect(page.get_by_role("region", name="Arguments")).to_contain_text("5")
    hands.press("g", "r")
    hands.arrive("Runs")
    expect(page.locator("tbody tr")).to_have_count(2)
    hands.walk_to(page.locator(f"tbody tr[data-id='{second}']"))
    hands.press("x")
    expect(page.get_by_text("1 run selected")).to_be_visible()
    cancel = page.get_by_role("toolbar").get_by_role("button", name="Cancel")
    hands.reach(cancel, back=True)
    hands.press("Enter")
    hands.use(page.get_by_role("dialog").get_by_role("button", name="Cancel them"))
    wait_until(lambda: cluster.run_state(second) == "CANCELLED", message="the chosen run to be cancelled")
    assert cluster.run_state(first) == "WAITING"


def steer_groups_and_nodes(page: Page, hands: Hands, cluster: Site) -> None:
    """A paused group goes on, on whichever node; all nodes are seen."""
    hands.use(page.get_by_role("link", name="Groups", exact=True))
    hands.arrive("Groups")
    hands.use(page.get_by_role("button", name="Resume group halted"))
    query = '{ executions(filter: { jobName: { eq: "quick" } }) { totalCount } }'
    wait_until(lambda: cluster.ask(query)["executions"]["totalCount"] == 3, message="the run to be executed")
    hands.press("g", "n")
    hands.arrive("Nodes")
    there = cluster.ask("{ nodes { totalCount } }")["nodes"]["totalCount"]
    expect(page.locator("tbody tr", has_text="active")).to_have_count(there)
    hands.use(page.get_by_role("link", name="Jobs", exact=True))
    hands.arrive("Jobs")
    hands.use(page.get_by_role("button", name="Run broken…"))
    expect(page.get_by_role("dialog").get_by_label("reason")).to_be_focused()
    hands.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    hands.press("g", "o")
    hands.arrive("Overview")
    expect(page.get_by_role("region", name="Last failures")).to_contain_text("it broke")


def choose_zone_and_theme(page: Page, hands: Hands) -> None:
    """What holds for the whole page, and the list of keys."""
    hands.press("?")
    expect(page.get_by_role("dialog", name="Keys and words")).to_be_visible()
    hands.press("Escape")
    hands.use(page.get_by_role("button", name="Theme is auto"))
    hands.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    hands.use(page.get_by_role("link", name="Settings", exact=True))
    hands.arrive("Settings")
    hands.use(page.get_by_role("link", name="Explorer", exact=True))
    expect(page.locator(".graphiql-query-editor .CodeMirror-code")).to_contain_text("availableJobs")


@pytest.mark.costly
def test_everything_is_done_by_mouse(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    page.goto("/")
    expect(page.locator(".pill")).to_have_text("live")
    plan_and_run(page, site)
    run_again_from_the_log(page)
    choose_among_what_waits(page, site)
    drain_and_take_it_back(page, site)


def visit(page: Page, label: str, title: str) -> None:
    """Go to a page by its link."""
    page.get_by_role("link", name=label, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    expect(page.locator(".skeleton")).to_have_count(0)


def plan_and_run(page: Page, cluster: Site) -> None:
    """A task is made, run, paused with a reason and resumed."""
    visit(page, "Tasks", "Tasks")
    page.get_by_role("button", name="New task").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("by-mouse")
    form.get_by_label("Job", exact=True).fill("chatty")
    form.get_by_label("When", exact=True).fill("0 30 9 1 1 *")
    expect(form.locator(".next-times tbody tr")).to_have_count(3)
    form.get_by_label("lines").fill("3")
    form.get_by_role("button", name="Create task").click()
    row = page.locator("tbody tr", has_text="by-mouse")
    expect(row).to_contain_text("At 09:30")
    assert cluster.task("by-mouse")["args"] == {"lines": 3}
    row.get_by_role("button", name="Run by-mouse").click()
    expect(row).to_contain_text("success")
    row.get_by_role("button", name="Pause by-mouse").click()
    page.get_by_label("Reason").fill("at tea")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(row).to_contain_text("paused")
    row.get_by_role("link", name="by-mouse").click()
    expect(page.get_by_role("region", name="What happens next")).to_contain_text("at tea")
    page.get_by_role("button", name="Resume", exact=True).click()
    wait_until(lambda: cluster.task("by-mouse")["pausedAt"] is None, message="the task to go on")


def run_again_from_the_log(page: Page) -> None:
    """An execution is found by a filter, its log read, and it is run again with other arguments."""
    visit(page, "Log", "Execution log")
    page.get_by_label("Job, task or error").fill("chatty")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("tbody tr a.row-main").click()
    expect(page.get_by_role("log")).to_contain_text("line number 3")
    page.get_by_role("button", name="Run again with…").click()
    page.get_by_role("dialog").get_by_label("lines").fill("4")
    page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    expect(page.get_by_role("region", name="Arguments")).to_contain_text("4")
    expect(page.get_by_role("region", name="Facts")).to_contain_text("Retry of")
    expect(page.get_by_role("log")).to_contain_text("line number 4")


def choose_among_what_waits(page: Page, cluster: Site) -> None:
    """A group is paused and resumed; of its runs one is changed and one is cancelled."""
    later = '{ jobName: "chatty", group: "mice", runAt: "2090-01-01T00:00:00Z" }'
    runs = cluster.ask(f"mutation {{ enqueueRuns(input: {{ runs: [{later}, {later}] }}) {{ runs {{ id }} }} }}")
    first, second = (run["id"] for run in runs["enqueueRuns"]["runs"])
    visit(page, "Groups", "Groups")
    page.get_by_role("button", name="Pause group mice").click()
    page.get_by_label("Reason").fill("traps")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator("tbody tr", has_text="mice")).to_contain_text("traps")
    page.get_by_role("link", name="mice", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_label(f"Select run {second}", exact=True).check()
    page.get_by_role("toolbar").get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel them").click()
    wait_until(lambda: cluster.run_state(second) == "CANCELLED", message="the chosen run to be cancelled")
    page.get_by_role("link", name=first, exact=True).click()
    page.get_by_role("button", name="Change").click()
    page.get_by_role("dialog").get_by_label("lines").fill("5")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Arguments")).to_contain_text("5")
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("cancelled")
    visit(page, "Groups", "Groups")
    page.get_by_role("button", name="Resume group mice").click()
    expect(page.get_by_role("button", name="Pause group mice")).to_be_visible()


def drain_and_take_it_back(page: Page, cluster: Site) -> None:
    """A node that is at work is drained, and taken back before it has ended."""
    visit(page, "Jobs", "Jobs")
    page.get_by_role("button", name="Run gated…").click()
    page.get_by_role("dialog").get_by_label("gate").fill("mouse-hole")
    page.get_by_role("dialog").get_by_role("button", name="Run now").click()
    visit(page, "Overview", "Overview")
    running = page.get_by_role("region", name="Running now").locator("[data-row]", has_text="gated")
    expect(running).to_contain_text("waiting at the gate")
    busy = '{ runs(filter: { jobName: { eq: "gated" }, state: { eq: RUNNING } }) { nodes { node } } }'
    (at_work,) = cluster.ask(busy)["runs"]["nodes"]
    visit(page, "Nodes", "Nodes")
    row = page.locator("tbody tr", has_text=at_work["node"])
    row.get_by_role("button", name="Drain").click()
    page.get_by_role("dialog").get_by_role("button", name="Drain it").click()
    expect(row).to_contain_text("draining")
    row.get_by_role("button", name="Resume").click()
    expect(row).to_contain_text("active")
    cluster.open_gate("mouse-hole")
    visit(page, "Overview", "Overview")
    expect(page.get_by_role("region", name="Newest executions").locator("tr", has_text="gated")).to_contain_text(
        "success"
    )
