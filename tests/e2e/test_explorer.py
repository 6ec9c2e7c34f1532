"""GraphiQL is served whole from this server: editor, examples, subscriptions."""

import json

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.e2e.conftest import Site
from tests.e2e.test_pages import EVERY_LOOK, SCREENS, TOO_SMALL, violations
from tests.support.browser import PageOpener
from tests.support.waiting import wait_until

QUERY = ".graphiql-query-editor .CodeMirror-code"
ANSWER = ".graphiql-response .CodeMirror-code"

THEIRS = {"nested-interactive", "scrollable-region-focusable"}
"""What axe finds in GraphiQL itself: tabs that hold a button, and editors that scroll by their cursor alone."""


@pytest.fixture
def page(site: Site, new_page: PageOpener) -> Page:
    """The explorer, ready to be used."""
    # It stores its tabs a while after they change: a shared storage may get those of the test before once it is empty.
    page = new_page(site.url, first_visit=True)
    page.goto("/graphiql")
    expect(page.locator(QUERY)).to_contain_text("availableJobs")
    return page


@pytest.mark.costly
def test_its_files_are_at_most_half_a_megabyte_on_the_wire(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, first_visit=True)
    files: list[Request] = []
    page.on("requestfinished", lambda request: files.append(request) if "/assets/" in request.url else None)
    page.goto("/graphiql")
    expect(page.locator(QUERY)).to_contain_text("availableJobs")
    page.wait_for_load_state("networkidle")
    sent = sum(file.sizes()["responseBodySize"] for file in files)
    assert 300_000 < sent <= 500_000


@pytest.mark.costly
def test_a_first_visit_finds_examples_that_run(page: Page) -> None:
    page.get_by_role("button", name="Execute query").click()
    expect(page.locator(ANSWER)).to_contain_text("Always fails")


@pytest.mark.costly
def test_an_example_opens_in_a_tab_of_its_own(page: Page) -> None:
    tabs = page.locator(".graphiql-tab")
    before = tabs.count()
    page.get_by_role("button", name="Nodes and groups").click()
    expect(tabs).to_have_count(before + 1)
    page.get_by_role("button", name="Execute query").click()
    expect(page.locator(ANSWER)).to_contain_text("ACTIVE")


@pytest.mark.costly
def test_a_page_that_was_left_before_its_editors_came_opens_with_the_examples(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    waiting: list[Route] = []
    editors = "**/assets/codemirror-*"

    def hold(route: Route) -> None:
        waiting.append(route)

    page.route(editors, hold)
    page.goto("/graphiql")
    page.wait_for_function("() => localStorage.getItem('graphiql:tabState') !== null")
    assert waiting
    assert page.evaluate("() => localStorage.getItem('graphiql:query')") is None
    titles = page.get_by_role("tab").all_inner_texts()
    page.unroute(editors)
    page.reload()
    expect(page.locator(QUERY)).to_contain_text("availableJobs")
    expect(page.get_by_role("tab")).to_have_text(titles, use_inner_text=True)


def test_a_tab_is_dragged_to_another_place(page: Page) -> None:
    tabs = page.get_by_role("tab")
    page.get_by_role("button", name="Nodes and groups").click()
    expect(tabs.last).to_have_attribute("aria-selected", "true")
    *others, before, newest = tabs.all_inner_texts()
    tabs.last.drag_to(tabs.nth(len(others)))
    expect(tabs).to_have_text([*others, newest, before], use_inner_text=True)


SHOWN = "() => document.querySelector('.graphiql-response .CodeMirror').CodeMirror.getValue()"
"""The whole answer: the editor draws only the lines in sight."""


def later(site: Site, count: int) -> str:
    """Enqueue runs that never start; the id of the last one."""
    runs = [{"jobName": "quick", "group": "explorer", "runAt": "2099-01-01T00:00:00Z"}] * count
    mutation = "mutation($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { runs { id } } }"
    newest: str = site.ask(mutation, runs=runs)["enqueueRuns"]["runs"][-1]["id"]
    return newest


@pytest.mark.costly
def test_a_subscription_keeps_the_last_hundred_events_the_newest_first(page: Page, site: Site) -> None:
    page.get_by_role("button", name="Every change, live").click()
    expect(page.locator(QUERY)).to_contain_text("subscription")
    page.get_by_role("button", name="Execute query").click()
    expect(page.get_by_role("button", name="Stop query")).to_be_visible()
    # The button turns before the server has heard of the subscription.
    wait_until(lambda: later(site, 1) and "newestFirst" in page.evaluate(SHOWN), message="a first event to show")
    newest = later(site, 105)
    wait_until(lambda: f'"runId": "{newest}"' in page.evaluate(SHOWN), message="the newest event to show")
    answer = json.loads(page.evaluate(SHOWN))
    told = [each["data"]["events"] for each in answer["newestFirst"]]
    assert len(told) == 100
    # Tasks of the server itself may run meanwhile: their events lie among those of the runs, ordered by the cursors.
    places = [[int(part) for part in each["cursor"].split(".")[:2]] for each in told]
    assert places == sorted(places, reverse=True)
    assert newest in {each["runId"] for each in told}
    assert answer["count"] >= 105


def test_the_editor_completes_by_the_schema(page: Page) -> None:
    page.locator(QUERY).locator(".CodeMirror-line", has_text="description").click()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("isola")

    def completed() -> bool:
        page.keyboard.press("Control+Space")
        return "isolation" in page.locator(QUERY).inner_text()

    # Before the schema is there nothing is offered; the only name that fits is taken at once.
    wait_until(completed, message="the editor to complete the field")


@pytest.mark.costly
def test_variables_headers_and_the_schema_are_at_hand(page: Page, site: Site) -> None:
    page.get_by_role("button", name="Check a schedule").click()
    page.get_by_role("button", name="Headers").click()
    page.locator(".graphiql-editor-tool .graphiql-editor:not(.hidden) .CodeMirror-code").click()
    page.keyboard.type('{ "X-Request-ID": "from-the-explorer"')
    with page.expect_request(
        lambda request: request.url.endswith("/graphql") and "Berlin" in (request.post_data or "")
    ) as sent:
        page.get_by_role("button", name="Execute query").click()
    assert sent.value.headers["x-request-id"] == "from-the-explorer"
    page.get_by_role("button", name="Show Documentation Explorer").click()
    page.locator(".graphiql-doc-explorer-content").get_by_text("Query", exact=True).click()
    expect(page.locator(".graphiql-doc-explorer-content")).to_contain_text("availableJobs")


@pytest.mark.costly
def test_every_part_of_it_is_drawn_without_inline_styles(page: Page) -> None:
    for name, heading in (("Open settings dialog", "Settings"), ("Open short keys dialog", "Short Keys")):
        page.get_by_role("button", name=name).click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text(heading)
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Show History").click()
    expect(page.locator(".graphiql-history")).to_be_visible()
    page.get_by_role("button", name="Prettify query").hover()
    expect(page.get_by_role("tooltip").first).to_contain_text("Prettify")
    page.locator(QUERY).click()
    page.keyboard.press("Control+f")
    expect(page.locator(".CodeMirror-dialog").first).to_be_visible()


@pytest.mark.costly
@pytest.mark.timeout(120)
@pytest.mark.parametrize("pane", [None, "Show Documentation Explorer", "Show History"])
def test_it_fits_every_screen_and_is_accessible_in_all_colours(pane: str | None, page: Page) -> None:
    if pane is not None:
        page.get_by_role("button", name=pane).click()
        expect(page.get_by_role("button", name=pane.replace("Show", "Hide"))).to_be_visible()
    for width in SCREENS:
        page.set_viewport_size({"width": width, "height": 800})
        # An editor's own field is behind its lines: nobody presses it.
        assert [each for each in page.evaluate(TOO_SMALL) if not each.startswith("TEXTAREA")] == []
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    found = violations(page, looks=EVERY_LOOK)
    assert [each for each in found if not THEIRS.intersection(map(str, each))] == []
