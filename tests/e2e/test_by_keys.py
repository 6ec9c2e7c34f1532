"""What one does less often goes by keys alone, too: what is waited for, limits, views, order, changes and an end."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.e2e.hands import Hands
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until

LATER = "2090-01-01T00:00:00Z"


@pytest.mark.costly
@pytest.mark.timeout(150)
def test_the_rest_is_done_by_keyboard_alone(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    hands = Hands(page)
    site.create_task("by-keys", "deaf", args={"gate": "keys-gate"}, group="keys")
    page.goto("/")
    expect(page.locator(".pill")).to_have_text("live")
    change_a_task(page, hands, site)
    run_and_stop_it(page, hands, site)
    answer_what_waits(page, hands, site)
    limit_a_group(page, hands, site)
    order_a_list_and_keep_a_view(page, hands)
    drain_a_node_and_take_it_back(page, hands, site)
    choose_settings(page, hands)
    delete_the_task(page, hands, site)


def change_a_task(page: Page, hands: Hands, site: Site) -> None:
    """The form, from the task's page."""
    hands.press("g", "t")
    hands.arrive("Tasks")
    hands.walk_to(page.locator("tbody tr", has_text="by-keys"))
    hands.press("Enter")
    hands.arrive("by-keys")
    hands.use(page.get_by_role("button", name="Edit", exact=True))
    form = page.get_by_role("dialog", name="Edit by-keys")
    expect(form.get_by_label("Job", exact=True)).to_be_focused()
    hands.write(form.get_by_label("Description"), "done without a mouse")
    hands.press("Enter")
    expect(form).to_have_count(0)
    assert site.task("by-keys")["description"] == "done without a mouse"


def run_and_stop_it(page: Page, hands: Hands, site: Site) -> None:
    """Run now, the run, asking it to stop, its end, once again."""
    hands.use(page.get_by_role("button", name="Run now"))
    execution = page.get_by_role("region", name="Executions").locator("tbody tr a.row-main")
    expect(execution).to_have_count(1)
    hands.use(execution)
    hands.arrive("running")
    hands.use(page.get_by_role("button", name="Cancel", exact=True))
    stopping = page.get_by_role("button", name="Asked to stop")
    hands.reach(stopping, back=True)
    site.open_gate("keys-gate")
    again = page.get_by_role("button", name="Run again", exact=True)
    hands.reach(again, back=True)
    hands.press("Enter")
    expect(page.locator(".notice", has_text="is tried again as run")).to_be_visible()


def answer_what_waits(page: Page, hands: Hands, site: Site) -> None:
    """The inbox, from the menu to the answer."""
    run = site.trigger("ordered", order=12)
    wait_until(lambda: site.run_state(run) == "SUSPENDED", message="the run to wait for its signal")
    hands.press("g", "i")
    hands.arrive("Waiting for people")
    hands.use(page.get_by_role("button", name=f"Answer approved of run {run}"))
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("limit")).to_be_focused()
    hands.write(dialog.get_by_label("limit"), "9")
    # While a busy machine lets the link go for a moment, nothing can be sent.
    expect(dialog.locator("[type=submit]")).to_be_enabled()
    hands.press("Enter")
    expect(dialog).to_have_count(0)
    wait_until(lambda: site.run_state(run) == "SUCCESS", message="the answered run to end")


def limit_a_group(page: Page, hands: Hands, site: Site) -> None:
    """A limit is set, and a group paused and resumed."""
    hands.use(page.get_by_role("link", name="Groups", exact=True))
    hands.arrive("Groups")
    hands.use(page.get_by_role("button", name="Set limits for group keys"))
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Runs at once")).to_be_focused()
    hands.write(dialog.get_by_label("Runs at once"), "3")
    hands.press("Enter")
    expect(dialog).to_have_count(0)
    assert site.ask('{ group(name: "keys") { maxRunning } }')["group"] == {"maxRunning": 3}
    hands.use(page.get_by_role("button", name="Pause group keys"))
    expect(page.get_by_role("dialog").get_by_label("Reason")).to_be_focused()
    page.keyboard.type("at night")
    hands.press("Enter")
    resume = page.get_by_role("button", name="Resume group keys")
    expect(page.locator("tbody tr", has_text="keys")).to_contain_text("at night")
    hands.use(resume)
    expect(page.get_by_role("button", name="Pause group keys")).to_be_visible()


def order_a_list_and_keep_a_view(page: Page, hands: Hands) -> None:
    """Chips, a heading, a view: kept, opened and deleted."""
    hands.press("g", "l")
    hands.arrive("Execution log")
    hands.press("/")
    page.keyboard.type("job:deaf ")
    expect(page).to_have_url(re.compile("job=deaf"))
    hands.press("Escape")
    heading = page.get_by_role("columnheader", name="Duration").get_by_role("button")
    hands.use(heading)
    expect(page).to_have_url(re.compile("sort=longest"))
    views = page.locator("summary", has_text="Views")
    hands.reach(views, back=True)
    hands.press("Enter")
    hands.write(page.get_by_label("Name of this view"), "slow ones")
    hands.press("Enter")
    view = page.get_by_role("link", name="slow ones")
    expect(view).to_be_visible()
    hands.press("Escape")
    expect(views).to_be_focused()
    hands.press("g", "l")
    expect(page).to_have_url(re.compile("/log$"))
    hands.reach(views)
    hands.press("Enter")
    hands.use(view)
    expect(page).to_have_url(re.compile(r"job=deaf&sort=longest|sort=longest&job=deaf"))
    hands.reach(views)
    hands.press("Enter")
    hands.use(page.get_by_role("button", name="Delete the view slow ones"))
    expect(view).to_have_count(0)


def drain_a_node_and_take_it_back(page: Page, hands: Hands, site: Site) -> None:
    """While it still runs something."""
    held = site.trigger("gated", gate="keys-held")
    wait_until(lambda: site.run_state(held) == "RUNNING", message="the run to start")
    hands.press("g", "n")
    hands.arrive("Nodes")
    hands.use(page.get_by_role("button", name=re.compile("^Drain ")))
    hands.use(page.get_by_role("dialog").get_by_role("button", name="Drain it"))
    hands.use(page.get_by_role("button", name=re.compile("^Resume ")))
    expect(page.locator("tbody tr")).to_contain_text("active")
    site.open_gate("keys-held")


def choose_settings(page: Page, hands: Hands) -> None:
    """Theme, times and rows, by the letters that the choices begin with."""
    hands.use(page.get_by_role("link", name="Settings", exact=True))
    hands.arrive("Settings")
    for label, letter, value in (
        ("Theme", "d", "dark"),
        ("Times", "l", "local"),
        ("Rows of lists", "c", "comfortable"),
    ):
        field = page.get_by_label(label, exact=True)
        hands.reach(field)
        hands.press(letter)
        expect(field).to_have_value(value)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def delete_the_task(page: Page, hands: Hands, site: Site) -> None:
    """By the palette to its page, and away with it."""
    hands.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to…")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("by-keys")
    expect(palette.get_by_role("option").first).to_contain_text("by-keys")
    hands.press("Enter")
    hands.arrive("by-keys")
    hands.use(page.get_by_role("button", name="Delete", exact=True))
    hands.use(page.get_by_role("dialog").get_by_role("button", name="Delete the task"))
    hands.arrive("Tasks")
    assert site.task("by-keys") is None
