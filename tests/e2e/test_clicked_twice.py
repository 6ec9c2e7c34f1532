"""A unique key that a job declares holds for clicks: two of them do not charge an order twice."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site, site_with
from tests.e2e.test_truth import live
from tests.support.browser import PageOpener
from tests.support.forking import Nursery

CHARGE = """

@job("charge", unique_key=("order_id",), group="till", description="Charges the card of an order")
async def charge(order_id: int) -> None: ...
"""
RUNS = '{ runs(filter: { jobName: { eq: "charge" } }) { nodes { id uniqueKey } } }'


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[Site]:
    """A server whose till is paused, so that what is charged stays unfinished."""
    with site_with(tmp_path_factory.mktemp("till"), nursery, CHARGE) as site:
        site.ask('mutation { pauseGroup(input: { name: "till" }) { errors { message } } }')
        yield site


def charge(page: Page, order: int) -> None:
    """Fill in the form of the job and click Run."""
    page.get_by_role("button", name="Run charge…").click()
    form = page.get_by_role("dialog", name="Run charge")
    form.get_by_label("order_id").fill(str(order))
    form.get_by_role("button", name="Run now", exact=True).click()


def keys(shop: Site) -> list[str]:
    return sorted(one["uniqueKey"] for one in shop.ask(RUNS)["runs"]["nodes"])


@pytest.mark.costly
def test_a_second_click_makes_no_second_run_and_says_which_one_there_is(shop: Site, new_page: PageOpener) -> None:
    page = new_page(shop.url)
    live(page, "/jobs")
    charge(page, 7)
    expect(page.get_by_role("dialog")).to_have_count(0)
    live(page, "/jobs")
    charge(page, 7)
    expect(page.get_by_text("with its unique key is unfinished")).to_be_visible()
    assert keys(shop) == ["charge(order_id=7)"]
    live(page, "/jobs")
    charge(page, 8)
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert keys(shop) == ["charge(order_id=7)", "charge(order_id=8)"]
