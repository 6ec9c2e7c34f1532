"""The shop: a request enqueues, a job changes the database, and the log has what it said."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

FOLDER = tempfile.mkdtemp(prefix="shop-")
os.environ["SHOP_DATABASE"] = str(Path(FOLDER) / "shop.sqlite3")
os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"

import django
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client, TestCase
from starlette.testclient import TestClient

from cronograph.django import CronographTestMixin
from cronograph.jobs import NotFound, RunHandle
from cronograph.jobs.testing import Queue, drain, run_job

django.setup()
from shop.jobs import count_stock, restock
from shop.models import Product


@pytest.fixture(scope="module", autouse=True)
def tables() -> Iterator[None]:
    """The tables of the shop."""
    call_command("migrate", run_syncdb=True, verbosity=0)
    yield
    connection.close()


def test_a_job_changes_the_stock() -> None:
    product = Product.objects.create(name="tea", stock=0)
    assert asyncio.run(run_job(count_stock)).records_processed == 1
    result = asyncio.run(run_job(restock, {"product_id": product.pk, "amount": 10}))
    product.refresh_from_db()
    assert (result.outcome, result.messages, product.stock) == ("success", ["restocked"], 10)


class Restocking(CronographTestMixin, TestCase):
    def test_a_request_enqueues(self) -> None:
        assert self.client.post("/restock/7").status_code == 202
        self.assertEnqueued(restock, {"product_id": 7, "amount": 10})


def test_one_run_for_each_product_waits_at_a_time(cronograph_queue: Queue) -> None:
    first, second = (restock.enqueue_sync(product_id=7, amount=amount) for amount in (10, 5))
    assert first.run_id == second.run_id
    assert [run.args for run in cronograph_queue.enqueued(restock)] == [{"product_id": 7, "amount": 10}]


def test_a_run_belongs_to_the_transaction() -> None:
    call_command("cronograph", "migrate")
    with transaction.atomic():
        kept = restock.enqueue_sync(product_id=8, amount=1)
    gone: list[RunHandle] = []

    @transaction.atomic
    def fail() -> None:
        gone.append(restock.enqueue_sync(product_id=9, amount=1))
        raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert kept.status_sync() == "waiting"
    with pytest.raises(NotFound):
        gone[0].status_sync()


def test_only_the_staff_sees_the_dashboard() -> None:
    from django.contrib.auth.models import User
    from shop.asgi import application

    ada, bob = (User.objects.create_user(name, is_staff=is_staff) for name, is_staff in (("ada", True), ("bob", False)))
    with TestClient(application, base_url="http://localhost") as visitor:
        assert visitor.get("/ops/jobs/").status_code == 401
        admin = Client()
        for user, status in ((bob, 401), (ada, 200)):
            admin.force_login(user)
            visitor.cookies.set("sessionid", admin.cookies["sessionid"].value)
            assert visitor.post("/ops/jobs/graphql", json={"query": "{ viewer { name } }"}).status_code == status
        asked = visitor.post("/ops/jobs/graphql", json={"query": "{ viewer { name role } }"})
        assert asked.json()["data"]["viewer"] == {"name": "ada", "role": "OPERATOR"}
        assert visitor.post("/restock/7").status_code == 202
        jobs = visitor.post("/ops/jobs/graphql", json={"query": "{ runs { nodes { jobName } } }"}).json()
        assert {"jobName": "restock"} in jobs["data"]["runs"]["nodes"]


def test_the_schedule_fires_on_working_days() -> None:
    async def one_week() -> int:
        async with Queue() as queue:
            end = queue.clock.now().replace(hour=0) + timedelta(days=7)
            return len(await drain(queue, until=end))

    assert asyncio.run(one_week()) == 5
