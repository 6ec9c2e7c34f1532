"""Faults are logged whole, in one line while there is no database; an orderly stop says nothing of its duties."""

import asyncio
import logging

import psycopg
import pytest
from psycopg import errors
from sqlalchemy.exc import InternalError

from cronograph.jobs.runtime.base.service import Duty
from cronograph.jobs.store.db.database import OperationalError
from cronograph.jobs.store.db.faults import log_fault
from tests.support.waiting import eventually

LOG = logging.getLogger("cronograph.tests")

CUT = OperationalError("SELECT 1\nFROM run", None, psycopg.OperationalError("the server closed the connection\nsadly"))


@pytest.mark.parametrize(
    "error",
    [CUT, ExceptionGroup("two", [CUT, CUT]), ExceptionGroup("one", [ExceptionGroup("in one", [CUT])])],
)
def test_a_lost_connection_is_one_line(caplog: pytest.LogCaptureFixture, error: Exception) -> None:
    log_fault(LOG, "the worker failed", error)
    (record,) = caplog.records
    assert record.getMessage() == "the worker failed: the server closed the connection"
    assert record.exc_info is None


def test_a_refused_connection_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    log_fault(LOG, "the worker failed", ConnectionRefusedError())
    assert caplog.messages == ["the worker failed: ConnectionRefusedError"]


def test_a_database_that_is_read_only_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    refused = errors.ReadOnlySqlTransaction("cannot execute UPDATE in a read-only transaction")
    log_fault(LOG, "a heartbeat failed", InternalError("UPDATE node", None, refused))
    (record,) = caplog.records
    assert record.getMessage() == "a heartbeat failed: cannot execute UPDATE in a read-only transaction"
    assert record.exc_info is None


def test_every_other_fault_is_logged_whole(caplog: pytest.LogCaptureFixture) -> None:
    error = ExceptionGroup("two", [CUT, ValueError("no luck")])
    log_fault(LOG, "the worker failed", error)
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[1] is error


async def test_a_duty_that_fails_is_reported_once_and_done_again(caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []

    async def duty() -> None:
        done.append(1)
        if len(done) == 1:
            raise ConnectionResetError("cut off")

    looking = Duty("look", 0.02, duty)
    looking.start()
    await eventually(lambda: len(done) > 1)
    await looking.stop()
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert errors == ["look failed and starts again in 0.1 s: cut off"]


async def test_a_duty_that_is_under_way_when_it_is_stopped_is_cancelled_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun = asyncio.Event()

    async def duty() -> None:
        begun.set()
        await asyncio.Event().wait()

    looking = Duty("look", 0.01, duty)
    looking.start()
    await begun.wait()
    await looking.stop()
    await looking.stop()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
