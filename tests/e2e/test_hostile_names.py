"""Names as nobody should choose them, on every page: nothing is wider than its window, and nothing becomes markup."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.addresses import PAGES
from tests.e2e.conftest import Site, site_with
from tests.e2e.test_pages import CUT_OFF, ready
from tests.support.browser import PageOpener
from tests.support.forking import Nursery
from tests.support.waiting import wait_until

LONG = "W" * 200
"""As long as a name can be, in one word of the widest letter."""
RIGHT_TO_LEFT = "تقرير-المنطقة-الشمالية-عن-المبيعات-اليومية"
PICTURES = "🚀🧨" * 40
MARKUP = "<img src=x onerror=window.broken=1><b>&amp;{{7*7}}"
NAMES = (LONG, RIGHT_TO_LEFT, PICTURES, MARKUP)

JOBS = "".join(
    f"""

@job({name!r}, description={name!r})
async def hostile_{number}(ctx: JobContext, text: str = {name!r}) -> Result:
    logging.getLogger("hostile").info("line %s", text)
    await ctx.step(text, lambda: text)
    if text == {LONG!r}:
        raise PermanentFailure(text)
    return Result(value=text)
"""
    for number, name in enumerate(NAMES)
)

OUTSIDE = """() => {
  const scrolls = (each) => {
    for (let one = each.parentElement; one !== document.body && one !== null; one = one.parentElement)
      if (getComputedStyle(one).overflowX !== 'visible') return true
    return false
  }
  return [...document.querySelectorAll('body *')]
    .filter((each) => each.checkVisibility() && !each.closest('svg, .visually-hidden') && !scrolls(each))
    .filter((each) => { const box = each.getBoundingClientRect(); return box.width > 0 && box.right > innerWidth + 1 })
    .map((each) => `${each.tagName} ${each.className} ends at ${each.getBoundingClientRect().right}`)
    .slice(0, 5)
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[Site]:
    """A server on which everything that has a name has each of these."""
    with site_with(tmp_path_factory.mktemp("dashboard"), nursery, JOBS) as site:
        runs = [run for name in NAMES for run in fill(site, name)]
        wait_until(lambda: all(site.run_state(run) in {"SUCCESS", "FAILED"} for run in runs), message="the runs to end")
        yield site


def change(site: Site, field: str, **wanted: object) -> None:
    """Do something by the API."""
    kind = field[0].upper() + field[1:] + "Input"
    query = f"mutation($input: {kind}!) {{ {field}(input: $input) {{ errors {{ message }} }} }}"
    assert site.ask(query, input=wanted)[field]["errors"] == []


def fill(site: Site, name: str) -> list[str]:
    """Give that name to one of each; the runs that come to an end."""
    labels = {"k" * 63: name}
    site.create_task(name, name, group=name, owner=name, labels=labels, description=name)
    change(site, "pauseTask", name=name, reason=name)
    change(site, "triggerTask", name=name)
    run = site.trigger(name)
    change(site, "pauseGroup", name=f"{name[:190]} held", reason=name)
    change(site, "enqueueRuns", runs=[{"jobName": name, "group": f"{name[:190]} held", "labels": labels}])
    change(site, "enqueueFlow", name=name, labels=labels, runs=[{"key": "a", "jobName": name}])
    change(site, "setSecret", name=name, value="a secret")
    change(site, "createAccount", name=name[:100], role="VIEWER")
    change(site, "saveView", page="/tasks", name=name, search="?q=x")
    return [run]


def fits(page: Page, path: str) -> None:
    """What is shown fits a phone and a desk, and nothing of it was taken as markup."""
    for width in (1280, 320):
        page.set_viewport_size({"width": width, "height": 800})
        wait_until(lambda: page.evaluate(CUT_OFF) == [], message=f"{path} to fit {width} px")
        assert page.evaluate(OUTSIDE) == [], f"{path} at {width} px"
    assert page.evaluate("window.broken") is None
    assert page.locator("img[src='x']").count() == 0


@pytest.mark.costly
@pytest.mark.parametrize("path", PAGES)
def test_a_list_of_hostile_names_fits(path: str, site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    page.goto(path)
    ready(page)
    fits(page, path)


@pytest.mark.costly
@pytest.mark.parametrize("name", NAMES, ids=["long", "right to left", "pictures", "markup"])
def test_pages_of_one_thing_of_a_hostile_name_fit(name: str, site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url)
    query = "query($name: String!) { runs(first: 1, filter: { jobName: { eq: $name } }) { nodes { id } } }"
    run = site.ask(query, name=name)["runs"]["nodes"][0]["id"]
    where = quote(name, safe="")
    tabs = (f"/tasks/{where}?tab={tab}" for tab in ("runs", "schedule", "policies", "statistics", "changes"))
    filters = (f"/runs?group={where}", f"/log?task={where}&job={where}", f"/tasks?owner={where}&q={where}")
    for path in (*tabs, *filters, f"/runs/{run}", f"/lines?job={where}&q=line"):
        page.goto(path)
        ready(page)
        fits(page, path)


@pytest.mark.costly
@pytest.mark.parametrize("name", NAMES, ids=["long", "right to left", "pictures", "markup"])
def test_a_hostile_name_is_found_by_the_palette_and_completed_in_a_search(
    name: str, site: Site, new_page: PageOpener
) -> None:
    page = new_page(site.url)
    page.goto("/log")
    ready(page)
    field = page.locator("[data-search]")
    field.fill(f"task:{name[:4]}")
    expect(page.get_by_role("option").filter(has_text=name[:30]).first).to_be_visible()
    fits(page, "the search field")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to…")
    palette.get_by_role("combobox").fill(name[:4])
    task = palette.get_by_role("option").filter(has_text=re.compile(f"^{re.escape(name)}task$"))
    expect(task).to_be_visible()
    fits(page, "the palette")
    task.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(name[:30])
