"""The watch over the browser sees what it must see."""

from tests.support.browser import BrowserWatch, PageOpener
from tests.support.ports import free_port
from tests.support.waiting import wait_until


def test_a_page_without_faults_leaves_no_problem(new_page: PageOpener) -> None:
    page = new_page("http://127.0.0.1:1", first_visit=True)
    page.set_content("<h1>Hello</h1>")
    assert page.locator("h1").inner_text() == "Hello"


def test_console_errors_and_foreign_requests_are_noticed(new_page: PageOpener, browser_watch: BrowserWatch) -> None:
    page = new_page("http://127.0.0.1:1", first_visit=True)
    foreign = f"http://127.0.0.1:{free_port()}/pixel.png"
    page.set_content(f"<img src='{foreign}'><script>console.error('broken'); undefinedName()</script>")

    def noticed() -> bool:
        page.wait_for_load_state()
        return len(browser_watch.problems) >= 3

    wait_until(noticed)
    found = "\n".join(browser_watch.remaining())
    assert "console error: broken" in found
    assert "uncaught error: undefinedName is not defined" in found
    assert f"request to another origin: image {foreign}" in found
    browser_watch.allow("broken|undefinedName|another origin|ERR_CONNECTION_REFUSED")
    assert browser_watch.remaining() == []
