"""Reads for a subscriber outlive a database that is away for a moment, with every way to end their connections."""

import threading

import psycopg
import pytest
from sqlalchemy import text

from cronograph.jobs.store.db.database import Connection, Database
from cronograph.jobs.store.db.faults import kind_of
from cronograph.jobs.store.schema.types import SchemaText
from tests.support.waiting import let_pass

pytestmark = pytest.mark.postgres


class Dawdler:
    """Sits idle within its first transactions for longer than the server allows."""

    def __init__(self, times: int) -> None:
        self.attempts = 0
        self._times = times

    def __call__(self, conn: Connection) -> int:
        self.attempts += 1
        if self.attempts <= self._times:
            conn.execute(text("SET LOCAL idle_in_transaction_session_timeout = 20"))
            let_pass(0.2)
        answer: int = conn.execute(text("SELECT 7")).scalar_one()
        return answer


async def test_a_read_that_sat_idle_too_long_again_and_again_is_done_again(postgres_url: str) -> None:
    database = Database(postgres_url)
    dawdler = Dawdler(times=5)
    assert await database.with_retry(3600).read(dawdler) == 7
    assert dawdler.attempts == 6
    await database.close()


async def test_one_that_is_not_patient_reports_that_the_database_is_unavailable(postgres_url: str) -> None:
    database = Database(postgres_url)
    # The server says why, then closes; who sends at that moment only finds the connection closed.
    with pytest.raises(Exception, match=r"idle-in-transaction|closed the connection") as caught:
        await database.read(Dawdler(times=5))
    assert kind_of(caught.value).passes
    await database.close()


async def test_a_read_is_done_again_until_a_lock_is_let_go(postgres_url: str) -> None:
    database = Database(f"{postgres_url}?options=-c%20lock_timeout%3D20ms")
    tried = threading.Semaphore(0)

    def count(conn: Connection) -> int:
        tried.release()
        answer: int = conn.execute(SchemaText("SELECT count(*) FROM cronograph.job_execution")).scalar_one()
        return answer

    with psycopg.connect(database.libpq_url()) as other:
        other.execute("LOCK TABLE cronograph.job_execution IN ACCESS EXCLUSIVE MODE")

        def let_go() -> None:
            for _ in range(2):
                tried.acquire()
            other.rollback()

        letting_go = threading.Thread(target=let_go)
        letting_go.start()
        assert await database.with_retry(3600).read(count) == 0
        letting_go.join()
    await database.close()


async def test_patience_ends(postgres_url: str) -> None:
    database = Database(postgres_url.replace("postgres@", "nobody_of_this_name@"))
    with pytest.raises(Exception, match="nobody_of_this_name") as caught:
        await database.with_retry(0.3).read(lambda conn: conn.execute(text("SELECT 1")).scalar_one())
    assert kind_of(caught.value).passes
    await database.close()
