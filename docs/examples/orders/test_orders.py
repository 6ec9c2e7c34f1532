"""The order service with a real node, on PostgreSQL; and one job by itself."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from app import app
from fastapi.testclient import TestClient
from sqlalchemy.ext.asyncio import AsyncSession

from cronograph.jobs.testing import Queue, run_job
from jobs import confirm_order, send_mail

CRONOGRAPH = Path(sys.executable).with_name("cronograph")
DATABASE_URL = os.environ["SHOP_DATABASE_URL"].replace("+psycopg", "")


@pytest.fixture(scope="module")
def node() -> Iterator[None]:
    """A node that runs the jobs of this folder."""
    command = [str(CRONOGRAPH), "serve", "--jobs", "jobs,fulfilment", "--port", "0", "--no-auth", "--json"]
    with subprocess.Popen(
        [*command, "--database-url", DATABASE_URL], cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["event"] == "ready"
        yield
        process.terminate()


@pytest.fixture(scope="module")
def client(node: None) -> Iterator[TestClient]:
    """The web application."""
    with TestClient(app) as opened:
        yield opened


def wait_for_state(client: TestClient, order: int, state: str) -> None:
    """Ask until an order stands where it should."""
    until = time.monotonic() + 60
    while client.get(f"/orders/{order}").json()["state"] != state:
        assert time.monotonic() < until, f"order {order} did not become {state}"
        time.sleep(0.1)


def test_an_order_is_confirmed_by_a_job(client: TestClient) -> None:
    order = client.post("/orders", json={"email": "ada@example.org"}).json()["order"]
    wait_for_state(client, order, "confirmed")


def test_its_fulfilment_begins_once_and_waits_for_the_money(client: TestClient) -> None:
    order = client.post("/orders", json={"email": "cleo@example.org"}).json()["order"]
    first, second = (client.post(f"/orders/{order}/fulfilment?total=10").json()["run"] for _ in range(2))
    assert first == second
    wait_for_state(client, order, "waiting for payment")
    assert client.post("/orders/0/fulfilment?total=10").status_code == 404


def test_everything_in_one_process_needs_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    import all_in_one

    with TestClient(all_in_one.app, base_url="http://localhost:9000", follow_redirects=False) as opened:
        assert "http://localhost:9000/ops/jobs/setup?token=" in capsys.readouterr().err
        order = opened.post("/orders", json={"email": "bob@example.org"}).json()["order"]
        wait_for_state(opened, order, "confirmed")
        page = opened.get("/ops/jobs/tasks")
        assert (page.status_code, page.headers["location"]) == (303, "/ops/jobs/login?next=/tasks")


def test_an_order_enqueues_its_confirmation(cronograph_queue: Queue) -> None:
    with TestClient(app) as client:
        order = client.post("/orders", json={"email": "dora@example.org"}).json()["order"]
    cronograph_queue.assert_enqueued(confirm_order, {"order_id": order})
    cronograph_queue.refute_enqueued(send_mail)


def test_a_job_alone_needs_no_database() -> None:
    class Outbox:
        def __init__(self) -> None:
            self.mails: list[object] = []

        def add(self, mail: object) -> None:
            self.mails.append(mail)

    outbox = Outbox()
    arguments = {"to": "ada@example.org", "subject": "Hello"}
    result = asyncio.run(run_job(send_mail, arguments, resources={AsyncSession: outbox}))
    assert result.outcome == "success"
    assert len(outbox.mails) == 1
