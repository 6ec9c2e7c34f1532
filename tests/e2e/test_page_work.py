"""A page asks little of the network: how many requests and bytes it takes until it is complete."""

import pytest

from tests.e2e.conftest import Site
from tests.e2e.test_pages import ready
from tests.support.browser import PageOpener
from tests.support.page_work import PageWork, code_of_others
from tests.support.waiting import wait_until

MOST_REQUESTS = 15
MOST_BYTES = 100_000
"""On the wire, at a first visit, without the code of other pages that is fetched afterwards."""


@pytest.mark.costly
@pytest.mark.parametrize("path", ["/", "/tasks", "/runs", "/log", "/groups"])
def test_a_first_visit_takes_few_requests_and_bytes(path: str, site: Site, new_page: PageOpener) -> None:
    run = site.trigger("broken")
    wait_until(lambda: site.run_state(run) == "FAILED", message="the run to end")
    page = new_page(site.url, first_visit=True)
    work = PageWork.start(page, site.url)
    others = code_of_others(path)
    page.goto(path)
    ready(page)
    wait_until(lambda: page.evaluate("1") and work.has(*others), message="the code of the other pages")
    page.wait_for_load_state("networkidle")
    asked = work.kinds(without=others)
    assert len(asked) <= MOST_REQUESTS, sorted(asked)
    assert work.bytes(without=others) <= MOST_BYTES


def test_only_the_dashboard_loads_the_frame_which_starts_it(site: Site, new_page: PageOpener) -> None:
    page = new_page(site.url, first_visit=True)
    for path in ("/sign-in.js", "/graphiql"):
        answer = page.request.get(path)
        assert "/assets/base-" in answer.text()
        assert "/assets/frame-" not in answer.text()
