"""Every page and dialog, in both themes and at every width: nothing cut off, nothing that WCAG 2.2 AA forbids."""

import importlib.util
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from cronograph.jobs.store.statements.figures.failures import fingerprint
from tests.e2e.addresses import PAGES
from tests.e2e.conftest import Site
from tests.support.browser import BrowserWatch, ColorScheme, ForcedColors, PageOpener
from tests.support.requirements import unavailable
from tests.support.waiting import wait_until

WIDTHS = (320, 390, 640, 700, 820, 960, 1024, 1280, 1920, 2560)
"""Pixels; 640 is what a window of 1280 has at 200 % zoom."""

EVERY_RULE: dict[str, object] = {
    "rules": {"target-size": {"enabled": True}},
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
AXE = "([part, options]) => axe.run(part === 'html' ? document : part, options)"
Look = tuple[int, ColorScheme, ForcedColors]
LOOKS: tuple[Look, ...] = ((390, "dark", "none"), (1360, "light", "none"))
"""A phone and a desk, and both themes: what is drawn on each differs by its layout or by its colours, not by both."""

SCREENS = (320, 768, 1280, 1920, 2560)
COLOURS: tuple[tuple[ColorScheme, ForcedColors], ...] = (("light", "none"), ("dark", "none"), ("light", "active"))
EVERY_LOOK: list[Look] = [(width, scheme, forced) for width in SCREENS for scheme, forced in COLOURS]

LONG = "a-task-with-a-long-name-of-the-northern-region"

CUT_OFF = """() => {
  const found = []
  const page = document.documentElement
  if (page.scrollWidth > page.clientWidth) found.push(`the page is ${page.scrollWidth - page.clientWidth} px too wide`)
  const pen = document.createElement('canvas').getContext('2d')
  for (const cell of document.querySelectorAll('table.table td')) {
    const style = getComputedStyle(cell)
    pen.font = style.font
    const room = cell.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)
    const text = cell.textContent.trim()
    if (room < Math.min(pen.measureText(text).width, pen.measureText('00000000').width) - 1)
      found.push(`${cell.className} has ${room} px for '${text.slice(0, 20)}'`)
    // A row of one line ends what has no room with an ellipsis, but for what can be pressed.
    const pressed = [...cell.querySelectorAll('button, input')].some((each) => each.checkVisibility())
    const clamped = style.textOverflow === 'ellipsis' && !pressed
    const spills = !clamped && cell.scrollWidth > cell.clientWidth + 1
    if (spills) found.push(`${cell.className} spills '${text.slice(0, 20)}'`)
  }
  for (const fact of document.querySelectorAll('.tile-label, .tile-note'))
    if (fact.scrollWidth > fact.clientWidth) found.push(`a tile cuts '${fact.textContent}'`)
  for (const row of document.querySelectorAll('table.table:not(.as-cards) tbody tr'))
    if (row.clientHeight > 150) found.push(`a row is ${row.clientHeight} px tall: ${row.textContent.slice(0, 30)}`)
  return found
}"""

TOO_SMALL = """() => {
  const found = []
  for (const each of document.querySelectorAll('a[href], button, input, select, textarea, summary')) {
    const target = each.closest('label') ?? each
    const { width, height } = target.getBoundingClientRect()
    const sentence = each.matches('a') && [...each.parentNode.childNodes].some((node) => node.nodeValue?.trim())
    if (sentence || !each.checkVisibility() || each.matches('.skip-link, .visually-hidden *')) continue
    if (Math.min(width, height) < 24)
      found.push(`${target.tagName} ${target.className} ${width}x${height} '${target.textContent.trim().slice(0, 20)}'`)
  }
  return found
}"""
"""What one presses and is less than 24 px wide or high: WCAG 2.2 lets only links within a sentence be so."""


def ready(page: Page) -> None:
    """Wait until the page has its first data."""
    expect(page.locator(".pill")).to_have_text("live")
    expect(page.locator(".skeleton")).to_have_count(0)


def axe_source() -> str:
    """The accessibility checker, from the package that carries it."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        unavailable("axe-core", "pip install axe-playwright-python")
    return Path(found.origin).with_name("axe.min.js").read_text()


def violations(page: Page, part: str = "html", looks: Sequence[Look] = LOOKS) -> list[tuple[object, ...]]:
    """Return what axe-core finds within a part of a page, as it looks in each of these layouts and colours."""
    page.evaluate(axe_source())
    found: list[tuple[object, ...]] = []
    for width, scheme, forced in looks:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme, forced_colors=forced)
        # Lists become cards, and panels fold, in the frame after the window has its width.
        page.evaluate(DRAWN)
        answer = page.evaluate(AXE, [part, {"resultTypes": ["violations"], **EVERY_RULE}])
        found += [(width, scheme, forced, each["id"], each["nodes"][0]["html"][:200]) for each in answer["violations"]]
    return found


@pytest.fixture(scope="module", autouse=True)
def _content(site: Site) -> None:
    site.create_task("shown", "quick", owner="channel:42")
    site.create_task(LONG, "gated", args={"gate": "never"}, group="a-group-of-the-northern-region")
    runs = [site.trigger("quick"), site.trigger("broken", reason="no luck " * 12)]
    # A name of several lines where there is little room.
    site.ask('mutation { triggerTask(input: { name: "cleanup_expired_device_codes" }) { run { id } } }')
    hold_one(site)
    fill_what_is_seldom_full(site)
    runs.append(site.trigger("chatty", lines=3))
    wait_until(lambda: all(site.run_state(run) in {"SUCCESS", "FAILED"} for run in runs), message="the runs to end")


def hold_one(site: Site) -> None:
    """A run that waits in a group that is paused."""
    site.ask('mutation { pauseGroup(input: { name: "halted", reason: "audit" }) { errors { message } } }')
    site.ask(
        'mutation { enqueueRuns(input: { runs: [{ jobName: "quick", group: "halted" }] }) { errors { message } } }'
    )


def fill_what_is_seldom_full(site: Site) -> None:
    """A row each of the inbox, of flows, secrets and users."""
    waits = site.trigger("ordered")
    wait_until(lambda: site.run_state(waits) == "SUSPENDED", message="the run to wait for a person")
    for query in (
        """enqueueFlow(input: { name: "a flow of the northern region", runs: [
            { key: "first", jobName: "gated", args: { gate: "never" } },
            { key: "second", jobName: "quick", after: ["first"] }
        ] })""",
        'setSecret(input: { name: "A_SECRET_OF_THE_NORTHERN_REGION", value: "hidden" })',
        'createAccount(input: { name: "somebody-of-the-northern-region", role: OPERATOR })',
        'createAccount(input: { name: "gone", role: VIEWER })',
        'updateAccount(input: { name: "gone", disabled: true })',
    ):
        site.ask(f"mutation {{ {query} {{ errors {{ message }} }} }}")


AN_ERROR = f"/errors/{fingerprint('broken', 'PermanentFailure', 'it broke: ' + 'no luck ' * 12)}"
RAN = "/tasks/cleanup_expired_device_codes?tab=schedule"
EVERY_PAGE = (*PAGES, "/tasks/shown", RAN, "/jobs/quick", "/runs/1", "/log/1", "/flows/1", AN_ERROR)


@pytest.mark.costly
@pytest.mark.parametrize("path", EVERY_PAGE)
def test_a_page_fits_every_width_and_is_accessible_in_both_themes(path: str, site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    page.goto(path)
    ready(page)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        # The tables measure their place again within a frame or two.
        wait_until(lambda: page.evaluate(CUT_OFF) == [], message=f"{path} to fit {width} px")
        assert page.evaluate(TOO_SMALL) == []
    assert violations(page) == []


@pytest.mark.costly
@pytest.mark.rotating(20)
@pytest.mark.timeout(180)
@pytest.mark.parametrize("path", EVERY_PAGE)
def test_a_page_is_accessible_on_all_screens_and_in_forced_colours(path: str, site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    page.goto(path)
    ready(page)
    assert violations(page, looks=EVERY_LOOK) == []


def opened(page: Page, path: str, button: str | re.Pattern[str]) -> None:
    """Go somewhere and press a button that opens a dialog."""
    page.goto(path)
    ready(page)
    page.get_by_role("button", name=button, exact=True).click()


def halted(page: Page) -> str:
    """The id of the run that waits in the paused group: jobs that clean up may have had runs before it."""
    page.goto("/runs?group=halted")
    link = page.locator("tbody a[href^='/runs/']")
    return (link.get_attribute("href") or "").rpartition("/")[2]


DIALOGS: dict[str, Callable[[Page], None]] = {
    "Edit shown": lambda page: opened(page, "/tasks/shown", "Edit"),
    "Pause shown": lambda page: opened(page, "/tasks/shown", "Pause"),
    "Run shown": lambda page: opened(page, "/tasks/shown", "Run with…"),
    "Delete shown?": lambda page: opened(page, "/tasks/shown", "Delete"),
    "Limits of group halted": lambda page: opened(page, "/groups", "Set limits for group halted"),
    "Cancel runs?": lambda page: opened(page, "/runs?group=halted", "Cancel 1 run"),
    "Change run ": lambda page: opened(page, f"/runs/{halted(page)}", "Change"),
    "Run quick": lambda page: opened(page, "/jobs", "Run quick…"),
    "Pause group default": lambda page: opened(page, "/groups", "Pause group default"),
    "Drain": lambda page: opened(page, "/nodes", re.compile("^Drain ")),
    "Add a user": lambda page: opened(page, "/users", "Add a user"),
    "Add a secret": lambda page: opened(page, "/secrets", "Add a secret"),
    "Set A_SECRET": lambda page: opened(page, "/secrets", re.compile("^Set secret A_SECRET")),
    "Delete secret A_SECRET": lambda page: opened(page, "/secrets", re.compile("^Delete secret A_SECRET")),
    "Role of somebody": lambda page: opened(page, "/users", re.compile("^Change the role of somebody")),
    "Disable somebody": lambda page: opened(page, "/users", re.compile("^Disable somebody")),
    "Answer approved": lambda page: opened(page, "/inbox", re.compile("^Answer approved")),
    "Reject approved": lambda page: opened(page, "/inbox", re.compile("^Reject approved")),
    "Go to…": lambda page: opened(page, "/settings", "Go to…"),
    "Keys and words": lambda page: opened(page, "/settings", "Help"),
}


@pytest.mark.costly
@pytest.mark.parametrize("title", DIALOGS)
def test_a_dialog_takes_the_focus_gives_it_back_and_is_accessible(title: str, site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    DIALOGS[title](page)
    dialog = page.get_by_role("dialog", name=title)
    expect(dialog).to_be_visible()
    expect(dialog.get_by_text("Counting")).to_have_count(0)
    content = dialog.locator(".dialog-content")
    choices = [content.locator("input, select, textarea"), content.get_by_role("button"), dialog.get_by_role("button")]
    expect(next(choice for choice in choices if choice.count()).first).to_be_focused()
    # What lies under it is looked at as a page.
    assert violations(page, "dialog[open]") == []
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    wait_until(lambda: page.evaluate("document.activeElement.tagName") == "BUTTON", message="the focus to come back")


@pytest.mark.costly
@pytest.mark.rotating(20)
@pytest.mark.parametrize("title", DIALOGS)
def test_a_dialog_is_accessible_on_all_screens_and_in_forced_colours(
    title: str, site: Site, new_page: PageOpener
) -> None:
    page = new_page(site.url)
    DIALOGS[title](page)
    dialog = page.get_by_role("dialog", name=title)
    expect(dialog).to_be_visible()
    expect(dialog.get_by_text("Counting")).to_have_count(0)
    for width in SCREENS:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(TOO_SMALL) == []
        assert dialog.evaluate("element => element.scrollWidth - element.clientWidth") <= 0
    assert violations(page, "dialog[open]", looks=EVERY_LOOK) == []


HOLD_FRAMES = "() => { window.held = []; window.requestAnimationFrame = (draw) => window.held.push(draw) }"
DRAW_FRAMES = "() => window.held.splice(0).forEach((draw) => draw(performance.now()))"


def test_who_goes_on_before_the_page_is_drawn_after_a_dialog_keeps_the_focus(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    opened(page, "/tasks", "New task")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name", exact=True)).to_be_focused()
    page.evaluate(HOLD_FRAMES)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("/")
    # The dialog is put away before or after the key: either way it gives the focus back in a frame to come.
    wait_until(lambda: page.evaluate("window.held.length") > 0, message="the frames that give the focus back")
    page.evaluate(DRAW_FRAMES)
    page.keyboard.type("shown")
    expect(page.get_by_label("Name, job or owner")).to_have_value("shown")


def test_what_was_typed_into_a_dialog_is_not_thrown_away_unasked(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    DIALOGS["Pause shown"](page)
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("for a while")
    expect(dialog.get_by_label("Reason")).to_have_value("for a while")
    page.keyboard.press("Escape")
    dialog.get_by_role("button", name="Go on editing").click()
    expect(dialog.get_by_label("Reason")).to_have_value("for a while")
    page.mouse.click(4, 4)
    dialog.get_by_role("button", name="Discard it").click()
    expect(dialog).to_have_count(0)
    assert site.task("shown")["pausedAt"] is None


AT_TWICE_THE_SIZE = ((640, 450), (640, 400))
"""What windows of 1280 x 900 and 1280 x 800 have at 200 % zoom."""


@pytest.mark.costly
def test_at_twice_the_size_the_first_row_is_in_sight(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, viewport={"width": 390, "height": 740})
    for path in ("/runs?group=halted", "/tasks", "/log", "/groups", "/nodes", "/jobs"):
        page.goto(path)
        ready(page)
        for width, height in ((390, 740), *AT_TWICE_THE_SIZE):
            page.set_viewport_size({"width": width, "height": height})
            expect(page.locator("main tbody tr").first).to_be_in_viewport(ratio=0.5)


def test_the_filters_of_the_queue_stand_in_one_line_on_a_desk(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, viewport={"width": 1360, "height": 800})
    page.goto("/runs?group=halted")
    ready(page)
    bar = page.locator(".filter-bar")
    expect(bar.get_by_role("button", name="Clear filters")).to_be_visible()
    # What is done to all of them has a bar of its own.
    matching = page.get_by_role("group", name="All that match")
    for name in ("Cancel 1 run", "Low priority"):
        expect(matching.get_by_role("button", name=name)).to_be_visible()
    box = bar.bounding_box()
    assert box is not None
    assert box["height"] < 50


class TestShell:
    def test_the_theme_is_remembered(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        page.goto("/")
        page.get_by_role("button", name="Theme is auto").click()
        page.get_by_role("button", name="Theme is light").click()
        page.reload()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")

    def test_times_switch_between_utc_and_local_on_the_whole_page(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url, timezone_id="Asia/Kolkata")
        page.goto("/tasks/shown?tab=changes")
        created = (
            page.get_by_role("region", name="Facts").locator("dt", has_text="Created").locator("..").locator("time")
        )
        instant = datetime.fromisoformat(created.get_attribute("datetime") or "")
        expect(created).to_have_text(f"{instant:%Y-%m-%d %H:%M:%S} UTC")
        page.get_by_role("button", name="Times are shown in UTC").click()
        expect(created).to_have_text(f"{instant + timedelta(hours=5, minutes=30):%Y-%m-%d %H:%M:%S} UTC+5:30")

    @pytest.mark.costly
    def test_an_unknown_address_is_answered_with_a_way_back(
        self, site: Site, new_page: PageOpener, browser_watch: BrowserWatch
    ) -> None:
        browser_watch.allow("status of 404")
        page = new_page(site.url)
        answer = page.goto("/nowhere/at-all")
        assert (answer and answer.status) == 404
        expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
        expect(page.get_by_role("main")).to_contain_text("/nowhere/at-all")
        assert violations(page) == []
        page.set_viewport_size({"width": 1280, "height": 800})
        page.get_by_role("navigation", name="Pages").get_by_role("link", name="Tasks").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Tasks")
        page.goto("/log/not-a-number")
        page.get_by_role("link", name="Go to the overview").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


class TestKeys:
    def test_a_slash_goes_to_the_filter_and_keys_do_nothing_there(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        page.goto("/tasks")
        ready(page)
        page.keyboard.press("/")
        page.keyboard.type("gt?shown ")
        # The filter takes effect when one pauses; what is typed on then is neither lost nor moved to the word before.
        expect(page).to_have_url(f"{site.url}/tasks?q=gt%3Fshown")
        page.keyboard.type("there")
        expect(page.get_by_label("Name, job or owner")).to_have_value("gt?shown there")
        expect(page).to_have_url(f"{site.url}/tasks?q=gt%3Fshown+there")
        expect(page.get_by_role("dialog")).to_have_count(0)

    def test_rows_are_walked_selected_and_opened(self, site: Site, new_page: PageOpener) -> None:
        page = new_page(site.url)
        page.goto("/tasks?q=shown")
        expect(page.locator("tbody tr")).to_have_count(1)
        page.keyboard.press("j")
        page.keyboard.press("x")
        expect(page.get_by_label("Select shown")).to_be_checked()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("shown")
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        page.go_back()
        expect(page.locator("tbody tr")).to_be_focused()
        expect(page.get_by_label("Select shown")).to_be_checked()
