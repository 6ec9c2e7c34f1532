"""The service with its database, its queue in the same file, and a node; its jobs by the clock of the testing kit."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from accounts import TRIAL, leave, prolong, sign_up, upgrade
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from tables import Base, Customer

from cronograph.jobs import NotFound, RunHandle, connect
from cronograph.jobs.testing import Queue, drain, drain_sync
from jobs import WORLD, provision, remind, send_mail

CRONOGRAPH = Path(sys.executable).with_name("cronograph")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def world() -> Iterator[None]:
    """The outside, empty again after each test."""
    yield
    for one in WORLD.values():
        one.clear()


@pytest.fixture
def session(cronograph_queue: Queue) -> Iterator[Session]:
    """A session of the application, which is closed before the queue of the test."""
    del cronograph_queue
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with Session(engine) as opened:
        yield opened
    engine.dispose()


def test_a_customer_who_signs_up_is_reminded_before_the_trial_ends(session: Session, cronograph_queue: Queue) -> None:
    cronograph_queue.clock.set(NOW)
    customer = sign_up(session, "ada@example.org", NOW)
    cronograph_queue.assert_enqueued(provision, {"customer_id": customer})
    prolong(session, customer, NOW + 2 * TRIAL)
    drained = drain_sync(cronograph_queue)
    assert [run.job_name for run in drained] == ["provision", "send_mail", "remind", "send_mail"]
    assert cronograph_queue.clock.now() - NOW >= 2 * TRIAL
    assert WORLD["mails"] == ["customer-1@example.org: Welcome", "customer-1@example.org: Your trial ends soon"]


@pytest.mark.parametrize("why", [upgrade, leave])
def test_who_pays_or_leaves_is_not_reminded(why: object, session: Session, cronograph_queue: Queue) -> None:
    assert callable(why)
    customer = sign_up(session, "ada@example.org", NOW)
    why(session, customer)
    drain_sync(cronograph_queue)
    assert not any("trial" in mail for mail in WORLD["mails"])
    (reminder,) = cronograph_queue.enqueued(remind)
    assert (reminder.unique_key, reminder.state) == (f"remind-{customer}", "cancelled")


def test_a_request_that_is_rolled_back_leaves_nothing(session: Session, cronograph_queue: Queue) -> None:
    sign_up(session, "ada@example.org", NOW)
    session.rollback()
    cronograph_queue.refute_enqueued(provision)
    cronograph_queue.refute_enqueued(remind)


def test_what_was_made_for_a_customer_is_undone_if_the_rest_fails(cronograph_queue: Queue) -> None:
    WORLD["names"].append("customer-7")

    async def story() -> None:
        run = await cronograph_queue.enqueue(provision, {"customer_id": 7})
        await drain(cronograph_queue)
        assert (await cronograph_queue.run(run)).state == "failed"

    asyncio.run(story())
    assert (WORLD["databases"], WORLD["names"]) == ([], ["customer-7"])


def test_one_mail_that_cannot_be_sent_fails_alone() -> None:
    async def story() -> None:
        async with Queue() as queue:
            good = await queue.enqueue(send_mail, {"mails": {"to": "ada@example.org", "subject": "Hi"}})
            bad = await queue.enqueue(send_mail, {"mails": {"to": "x@nowhere.example.org", "subject": "Hi"}}, retries=0)
            await drain(queue)
            assert [(await queue.run(one)).state for one in (good, bad)] == ["success", "failed"]

    asyncio.run(story())


def test_a_real_node_works_on_what_committed_requests_asked_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'saas.db'}"
    command = [str(CRONOGRAPH), "serve", "--jobs", "jobs", "--port", "0", "--no-auth", "--json", "--database-url", url]
    with subprocess.Popen(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["event"] == "ready"
            engine = create_engine(url)
            Base.metadata.create_all(engine)
            with connect(url), Session(engine) as session:
                customer = sign_up(session, "ada@example.org", datetime.now(UTC) + timedelta(days=1))
                session.commit()
                RunHandle.of_sync(f"remind-{customer}")
                leave(session, customer)
                session.commit()
                assert session.get(Customer, customer) is None
                with pytest.raises(NotFound, match="no unfinished run has the unique key"):
                    RunHandle.of_sync(f"remind-{customer}")
            engine.dispose()
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
