"""A person without an account answers a run: on a phone, in a browser without scripts."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site, site_with
from tests.e2e.hands import TOO_WIDE
from tests.e2e.test_pages import violations
from tests.support.browser import BrowserWatch, Contexts, PageOpener
from tests.support.forking import Nursery
from tests.support.waiting import wait_until

JOBS = """
from datetime import date
from typing import Literal

from cronograph.jobs import AnswerPage


class Decision(BaseModel):
    verdict: Literal["approve", "ask again"]
    amount: Annotated[int, Field(ge=1, le=500, title="Amount", description="In euros")]
    due: date
    note: Annotated[str, Field(max_length=2000)] = ""


PAGE = AnswerPage(
    title="Invoice <7>",
    text="Please look at it.\\n\\nThe amount can be changed.",
    shows={"Customer": "ACME & <b>Sons</b>", "Paid before": False, "Items": [{"what": "chair", "price": 120}]},
    confirm="Send it",
    reject="No",
    thanks="Thanks, the invoice goes out.",
)


@job("invoice")
async def invoice(ctx: JobContext, number: int = 7) -> Result:
    async def ask() -> str:
        return await ctx.signal_url("decision", Decision, page=PAGE)

    await ctx.step("ask", ask)
    try:
        decision = await ctx.wait_for("decision", Decision)
    except Rejected as error:
        return Result(value=f"rejected: {error}")
    return Result(value=decision.model_dump(mode="json"))


@job("yes-or-no")
async def yes_or_no(ctx: JobContext) -> Result:
    await ctx.step("ask", lambda: ctx.signal_url("sure", bool, page=AnswerPage(title="Sure?", reject=None)))
    return Result(value=await ctx.wait_for("sure", bool))
"""
PHONE = {"width": 360, "height": 640}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[Site]:
    with site_with(tmp_path_factory.mktemp("answers"), nursery, JOBS) as site:
        yield site


def origins(shop: Site) -> set[str]:
    """The names of the server: its own, and that in the addresses for people."""
    return {shop.url, shop.url.replace("127.0.0.1", "localhost")}


@pytest.fixture
def phone(contexts: Contexts, browser_watch: BrowserWatch, shop: Site) -> Iterator[Page]:
    """A page on a small screen, where no script runs."""
    browser_watch.origins |= origins(shop)
    context = contexts.start().new_context(java_script_enabled=False, viewport=PHONE, has_touch=True)  # type: ignore[arg-type]
    page = context.new_page()
    browser_watch.watch(page)
    yield page
    context.close()


def asked(shop: Site) -> tuple[str, str]:
    """A run that waits for the answer of somebody, and the address of its page."""
    run_id = shop.trigger("invoice")
    wait_until(lambda: shop.run_state(run_id) == "SUSPENDED", 20, "the run to wait")
    steps = shop.ask("query($id: ID!) { run(id: $id) { steps { nodes { label value } } } }", id=run_id)
    values = {step["label"]: step["value"] for step in steps["run"]["steps"]["nodes"]}
    return run_id, str(values["ask"])


def result(shop: Site, run_id: str) -> object:
    wait_until(lambda: shop.run_state(run_id) == "SUCCESS", 20, "the run to end")
    return shop.ask("query($id: ID!) { run(id: $id) { result } }", id=run_id)["run"]["result"]


def test_a_form_is_filled_in_and_sent_without_scripts(shop: Site, phone: Page, browser_watch: BrowserWatch) -> None:
    browser_watch.allow(r"410 \(Gone\)")
    run_id, address = asked(shop)
    phone.goto(address)
    expect(phone.get_by_role("heading", name="Invoice <7>")).to_be_visible()
    expect(phone.get_by_text("The amount can be changed.")).to_be_visible()
    expect(phone.get_by_text("ACME & <b>Sons</b>")).to_be_visible()
    expect(phone.get_by_role("cell", name="chair")).to_be_visible()
    assert phone.locator(".wide table").count() == 1
    phone.get_by_role("radio", name="approve").check()
    phone.get_by_label("Amount").fill("120")
    phone.get_by_label("Due").fill("2026-12-01")
    phone.get_by_label("Note").fill("two\nlines")
    phone.get_by_role("button", name="Send it").click()
    expect(phone.get_by_text("Thanks, the invoice goes out.")).to_be_visible()
    decided = {"verdict": "approve", "amount": 120, "due": "2026-12-01", "note": "two\nlines"}
    assert result(shop, run_id) == decided, json.dumps(decided)
    phone.goto(address)
    expect(phone.get_by_text("This address was used at")).to_be_visible()


def test_no_is_said_with_a_reason(shop: Site, phone: Page) -> None:
    run_id, address = asked(shop)
    phone.goto(address)
    phone.get_by_label("Or say why not").fill("too expensive")
    phone.get_by_role("button", name="No", exact=True).click()
    expect(phone.get_by_text("Thanks, the invoice goes out.")).to_be_visible()
    assert result(shop, run_id) == "rejected: too expensive"


def test_it_fits_a_phone(shop: Site, contexts: Contexts, browser_watch: BrowserWatch) -> None:
    browser_watch.origins |= origins(shop)
    _, address = asked(shop)
    context = contexts.start().new_context(viewport=PHONE, has_touch=True, is_mobile=True)  # type: ignore[arg-type]
    page = context.new_page()
    browser_watch.watch(page)
    page.goto(address)
    assert page.evaluate(TOO_WIDE) <= 0
    heights = [box["height"] for one in page.get_by_role("button").all() if (box := one.bounding_box()) is not None]
    assert min(heights) >= 44
    context.close()


@pytest.mark.costly
def test_the_inbox_asks_as_the_page_does(shop: Site, new_page: PageOpener) -> None:
    run_id, other = asked(shop)[0], asked(shop)[0]
    page = new_page(shop.url)
    page.goto("/inbox")
    entry = page.get_by_role("article", name=f"Run {run_id}", exact=True)
    for text in ("Invoice <7>", "Please look at it.", "The amount can be changed.", "ACME & <b>Sons</b>"):
        expect(entry.get_by_text(text)).to_be_visible()
    expect(entry.get_by_role("cell", name="chair")).to_be_visible()
    assert page.evaluate(TOO_WIDE) <= 0
    assert violations(page) == []
    entry.get_by_role("button", name=f"Send it decision of run {run_id}").click()
    dialog = page.get_by_role("dialog", name="Answer Invoice <7>")
    expect(dialog.get_by_role("cell", name="chair")).to_be_visible()
    dialog.get_by_role("button", name="Send it").click()
    expect(dialog.get_by_role("radio", name="approve")).to_be_focused()
    dialog.get_by_role("radio", name="approve").check()
    dialog.get_by_label("Amount").fill("900")
    dialog.get_by_label("Due").fill("2026-12-01")
    dialog.get_by_label("Note").fill("two\nlines")
    assert violations(page) == []
    dialog.get_by_role("button", name="Send it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("900")
    expect(dialog.get_by_label("Amount")).to_be_focused()
    dialog.get_by_label("Amount").fill("120")
    dialog.get_by_role("button", name="Send it").click()
    expect(entry).to_have_count(0)
    assert result(shop, run_id) == {"verdict": "approve", "amount": 120, "due": "2026-12-01", "note": "two\nlines"}
    page.get_by_role("button", name=f"No decision of run {other}").click()
    dialog = page.get_by_role("dialog", name="Reject Invoice <7>")
    dialog.get_by_label("Reason").fill("too expensive")
    dialog.get_by_role("button", name="No", exact=True).click()
    assert result(shop, other) == "rejected: too expensive"


def test_one_value_is_asked_by_one_question_and_nobody_says_no_where_the_job_offers_none(
    shop: Site, new_page: PageOpener
) -> None:
    run_id = shop.trigger("yes-or-no")
    page = new_page(shop.url)
    page.goto("/inbox")
    entry = page.get_by_role("article", name=f"Run {run_id}", exact=True)
    expect(entry.locator(".wait-actions button")).to_have_text(["Confirm…"])
    entry.get_by_role("button", name="Confirm sure").click()
    dialog = page.get_by_role("dialog", name="Answer Sure?")
    dialog.get_by_role("radio", name="no").check()
    dialog.get_by_role("button", name="Confirm").click()
    assert result(shop, run_id) is False
