"""The dashboard below a path of FastAPI and of Django: the example projects of the documents, served by uvicorn."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import PageOpener
from tests.support.ports import free_port
from tests.support.sources import ROOT
from tests.support.waiting import wait_until

EXAMPLES = ROOT / "docs" / "examples"
PATH = "/ops/jobs"
PASSWORD = "a sentence of words"


@contextmanager
def uvicorn(example: str, application: str, folder: Path, **environment: str) -> Generator[tuple[str, Path]]:
    """An example project with all in one process; where it is, and the file with what it says."""
    port, said = free_port(), folder / "uvicorn.log"
    origin = f"http://localhost:{port}"
    where = ["--app-dir", str(EXAMPLES / example), "--host", "localhost", "--port", str(port)]
    command = [sys.executable, "-m", "uvicorn", application, *where]
    with (
        said.open("wb") as output,
        subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "SHOP_URL": origin, "PYTHONUNBUFFERED": "1", **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            wait_until(
                lambda: process.poll() is not None or "Uvicorn running on" in said.read_text(), message="uvicorn to run"
            )
            assert process.poll() is None, said.read_text()
            yield origin, said
        finally:
            process.send_signal(signal.SIGINT)
    assert process.returncode in (0, 130, -signal.SIGINT), said.read_text()
    assert "Traceback" not in said.read_text(), said.read_text()


def run_of(page: Page, job: str) -> None:
    """Find the task of a job, run it, and see by the WebSocket how it ends."""
    page.get_by_role("link", name="Tasks", exact=True).click()
    expect(page).to_have_url(re.compile(f"{PATH}/tasks$"))
    page.get_by_role("link", name=job).first.click()
    expect(page).to_have_url(re.compile(f"{PATH}/tasks/{job}$"))
    page.reload()
    expect(page.get_by_role("heading", name=job)).to_be_visible()
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_text("success").first).to_be_visible()


@pytest.mark.costly
@pytest.mark.browser
@pytest.mark.timeout(180)
def test_everything_is_found_below_a_path_of_fastapi(
    empty_postgres_url: str, new_page: PageOpener, tmp_path: Path
) -> None:
    address = empty_postgres_url.replace("postgresql:", "postgresql+psycopg:", 1)
    with uvicorn("orders", "all_in_one:app", tmp_path, SHOP_DATABASE_URL=address) as (origin, said):
        link = re.search(rf"{re.escape(origin + PATH)}/setup\S+", said.read_text())
        assert link is not None, said.read_text()
        page = new_page(origin)
        page.goto(link[0])
        page.get_by_label("Name").fill("ada")
        page.locator("input[type=password]").first.fill(PASSWORD)
        page.get_by_role("button").first.click()
        expect(page).to_have_url(f"{origin}{PATH}/")
        run_of(page, "close_old_orders")
        page.go_back()
        expect(page).to_have_url(f"{origin}{PATH}/tasks")
        page.goto(f"{PATH}/graphiql")
        expect(page.locator(".graphiql-container")).to_be_visible()
        expect(page.locator("a.explorer-home")).to_have_attribute("href", f"{PATH}/")
        # The application itself is beside it.
        assert page.request.post("/orders", data={"email": "ada@example.org"}).status == 202
        page.goto("about:blank")


ADMINISTRATOR = f"""
from django.contrib.auth.models import User
from django.core.management import call_command
call_command("migrate", run_syncdb=True, verbosity=0)
User.objects.create_superuser("ada", password="{PASSWORD}")
"""


@pytest.mark.costly
@pytest.mark.browser
@pytest.mark.timeout(180)
def test_anyone_who_has_signed_in_to_django_sees_everything_below_its_path(
    empty_sqlite_url: str, new_page: PageOpener, tmp_path: Path
) -> None:
    databases = {"CRONOGRAPH_DATABASE_URL": empty_sqlite_url, "SHOP_DATABASE": str(tmp_path / "shop.sqlite3")}
    command = [sys.executable, str(EXAMPLES / "shop" / "manage.py"), "shell", "-c", ADMINISTRATOR]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, **databases}, check=True)
    with uvicorn("shop", "shop.asgi:application", tmp_path, **databases) as (origin, _said):
        page = new_page(origin)
        page.goto(f"/admin/login/?next={PATH}/")
        page.get_by_label("Username").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page).to_have_url(f"{origin}{PATH}/")
        run_of(page, "count_stock")
        page.goto("about:blank")
