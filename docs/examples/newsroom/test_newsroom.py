"""The newsroom: articles are published when their time has come, and each reader gets one mail."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from smtplib import SMTPServerDisconnected

import pytest

FOLDER = tempfile.mkdtemp(prefix="newsroom-")
os.environ["NEWSROOM_DATABASE"] = str(Path(FOLDER) / "newsroom.sqlite3")
os.environ["DJANGO_SETTINGS_MODULE"] = "newsroom.settings"

import django
from django.core import mail
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import setup_test_environment, teardown_test_environment

from cronograph.jobs.testing import Queue, drain_sync, run_job

django.setup()
from newsroom.jobs import count_drafts, mail_to_all, publish
from newsroom.models import Article, Subscriber


@pytest.fixture(scope="module", autouse=True)
def site() -> Iterator[None]:
    """The tables, and mails that are kept instead of sent."""
    setup_test_environment()
    call_command("migrate", run_syncdb=True, verbosity=0)
    yield
    teardown_test_environment()
    connection.close()


@pytest.fixture(autouse=True)
def readers() -> Iterator[None]:
    """Two subscribers and no article."""
    Subscriber.objects.bulk_create([Subscriber(email="ada@example.org"), Subscriber(email="bob@example.org")])
    yield
    Subscriber.objects.all().delete()
    Article.objects.all().delete()
    mail.outbox.clear()


def write(at: datetime) -> int:
    answer = Client().post("/articles", {"headline": "Tea is back", "at": at.isoformat()})
    assert answer.status_code == 201
    return int(answer.json()["article"])


def test_an_article_is_published_in_time_and_mailed_to_each_reader(cronograph_queue: Queue) -> None:
    evening = cronograph_queue.clock.now() + timedelta(hours=8)
    article = write(evening)
    cronograph_queue.assert_enqueued(publish, {"article_id": article})
    drained = drain_sync(cronograph_queue)
    assert [(run.job_name, run.state) for run in drained] == [("publish", "success"), ("mail_to_all", "success")]
    assert cronograph_queue.clock.now() >= evening
    assert Article.objects.exclude(published_at=None).count() == 1
    assert [one.to for one in mail.outbox] == [["ada@example.org"], ["bob@example.org"]]


def test_what_was_withdrawn_is_neither_published_nor_mailed(cronograph_queue: Queue) -> None:
    article = write(cronograph_queue.clock.now() + timedelta(hours=1))
    assert Client().post(f"/articles/{article}/withdraw").json() == {"withdrawn": True}
    (run,) = drain_sync(cronograph_queue)
    assert (run.state, mail.outbox) == ("cancelled", [])


def test_a_mail_server_that_is_unavailable_costs_nobody_a_second_mail(
    cronograph_queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    article = Article.objects.create(headline="Tea is back")
    asked: list[str] = []

    def send(subject: str, text: str, sender: str | None, to: list[str]) -> None:
        asked.append(to[0])
        if len(asked) == 2:
            raise SMTPServerDisconnected("try again later")

    monkeypatch.setattr("newsroom.jobs.send_mail", send)
    mail_to_all.enqueue_sync(article_id=article.pk)
    (run,) = drain_sync(cronograph_queue)
    assert (run.state, len(run.attempts)) == ("success", 2)
    assert asked == ["ada@example.org", "bob@example.org", "bob@example.org"]


def test_drafts_are_counted() -> None:
    Article.objects.create(headline="Tea is back")
    result = asyncio.run(run_job(count_drafts))
    assert (result.records_processed, result.messages) == (1, ["drafts"])
