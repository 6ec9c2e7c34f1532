"""The form of a job's arguments: lists with their items, which arrive as they are shown."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Site, says_why, site_with
from tests.e2e.test_truth import live
from tests.support.browser import PageOpener
from tests.support.forking import Nursery

INVOICE = """

class Line(BaseModel):
    sku: str
    count: Annotated[int, Field(le=100)] = 1


@job("invoice", description="Bills what was bought")
async def invoice(mails: list[str], lines: list[Line], limit: int | str = "none") -> int:
    return len(lines)
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[Site]:
    """A server with one more job, whose arguments are lists."""
    with site_with(tmp_path_factory.mktemp("shop"), nursery, INVOICE) as site:
        yield site


@pytest.fixture
def form(shop: Site, new_page: PageOpener) -> Locator:
    """The open form of that job."""
    page = new_page(shop.url)
    live(page, "/jobs")
    page.get_by_role("button", name="Run invoice…").click()
    return page.get_by_role("dialog", name="Run invoice")


def press(form: Locator, button: str) -> None:
    """Press a button of the form."""
    form.get_by_role("button", name=button, exact=True).click()


def item(form: Locator, name: str) -> Locator:
    """An item of a list, such as `lines 1`."""
    return form.get_by_role("group", name=name, exact=True)


def add_mails(form: Locator, *mails: str) -> None:
    """Add items to the list of addresses; each is typed where the focus is then."""
    for number, mail in enumerate(mails, start=1):
        press(form, "Add to mails")
        field = item(form, f"mails {number}").get_by_role("textbox")
        expect(field).to_be_focused()
        field.fill(mail)


def mails_of(form: Locator, *expected: str) -> None:
    """Check what the list of addresses shows."""
    expect(form.get_by_role("group", name="mails *", exact=True).get_by_role("textbox")).to_have_count(len(expected))
    for number, mail in enumerate(expected, start=1):
        expect(item(form, f"mails {number}").get_by_role("textbox")).to_have_value(mail)


def args_of_the_run(page: Page, site: Site) -> object:
    """The arguments of the only run, once the form has made it."""
    expect(page.get_by_role("dialog")).to_have_count(0)
    [run] = site.ask('{ runs(filter: {jobName: {eq: "invoice"}}, first: 1) { nodes { args } } }')["runs"]["nodes"]
    return run["args"]


@pytest.mark.costly
def test_items_are_added_moved_and_removed_and_arrive_in_their_order(form: Locator, shop: Site) -> None:
    add_mails(form, "a@shop", "b@shop", "5")
    says_why(form.get_by_role("button", name="Move mails 1 up"), "It is the first")
    says_why(form.get_by_role("button", name="Move mails 3 down"), "It is the last")
    press(form, "Move mails 3 up")
    mails_of(form, "a@shop", "5", "b@shop")
    press(form, "Move mails 1 down")
    mails_of(form, "5", "a@shop", "b@shop")
    press(form, "Remove mails 2")
    mails_of(form, "5", "b@shop")
    press(form, "Add to lines")
    press(form, "Add to lines")
    item(form, "lines 1").get_by_label("sku").fill("pen")
    item(form, "lines 2").get_by_label("sku").fill("ink")
    item(form, "lines 2").get_by_label("count").fill("2")
    press(form, "Move lines 2 up")
    form.get_by_label("limit").fill("80")
    press(form, "Run now")
    lines = [{"sku": "ink", "count": 2}, {"sku": "pen"}]
    assert args_of_the_run(form.page, shop) == {"mails": ["5", "b@shop"], "lines": lines, "limit": 80}


@pytest.mark.costly
def test_what_is_wrong_stands_at_the_item_that_has_it(form: Locator) -> None:
    press(form, "Run now")
    expect(form.get_by_role("button", name="Add to mails")).to_be_focused()
    add_mails(form, "a@shop", "")
    for _ in range(2):
        press(form, "Add to lines")
    item(form, "lines 1").get_by_label("sku").fill("pen")
    expect(item(form, "lines 2").get_by_role("alert")).to_contain_text("Must be given")
    item(form, "lines 2").get_by_label("sku").fill("ink")
    expect(item(form, "mails 2").get_by_role("alert")).to_contain_text("Fill it in, or remove it")
    expect(form.get_by_role("alert")).to_have_count(1)
    press(form, "Remove mails 2")
    item(form, "lines 2").get_by_label("count").fill("101")
    press(form, "Run now")
    expect(item(form, "lines 2").get_by_role("alert")).to_contain_text("100")
    expect(item(form, "lines 2").get_by_label("count")).to_be_focused()
    expect(form.get_by_role("alert")).to_have_count(1)
