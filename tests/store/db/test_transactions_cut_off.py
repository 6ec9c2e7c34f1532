"""A transaction that the server ends from its side is done again; a client that hangs blocks nobody for long."""

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from tests.support.waiting import let_pass

pytestmark = pytest.mark.postgres


class Dawdler:
    """Sits idle within its first transaction for longer than the server allows."""

    def __init__(self) -> None:
        self.attempts = 0

    def __call__(self, tx: Tx) -> int:
        self.attempts += 1
        if self.attempts == 1:
            tx.conn.execute(text("SET LOCAL idle_in_transaction_session_timeout = 20"))
            let_pass(0.2)
        answer: int = tx.conn.execute(text("SELECT 7")).scalar_one()
        return answer


async def test_a_transaction_that_sat_idle_too_long_is_done_again(postgres_url: str) -> None:
    database = Database(postgres_url)
    dawdler = Dawdler()
    assert await database.write(dawdler) == 7
    assert dawdler.attempts == 2
    await database.close()


async def test_a_setting_in_the_address_is_stronger_than_ours(postgres_url: str) -> None:
    database = Database(f"{postgres_url}?options=-c%20lock_timeout%3D3s")
    shown = await database.read(lambda conn: conn.execute(text("SHOW lock_timeout")).scalar_one())
    assert shown == "3s"
    await database.close()


async def test_a_client_that_hangs_within_a_transaction_is_cut_off_before_its_lease_ends(postgres_url: str) -> None:
    database = Database(postgres_url)
    limits = await database.read(
        lambda conn: {
            name: conn.execute(text(f"SHOW {name}")).scalar_one()
            for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
        }
    )
    assert limits == {
        "statement_timeout": "30s",
        "lock_timeout": "10s",
        "idle_in_transaction_session_timeout": "10s",
    }
    await database.close()


async def test_the_address_for_a_plain_connection_keeps_its_options(postgres_url: str) -> None:
    database = Database(f"{postgres_url}?options=-c%20lock_timeout%3D3s%20-c%20search_path%3Da%2Bb")
    with psycopg.connect(database.libpq_url()) as connection:
        assert connection.execute("SHOW lock_timeout").fetchone() == ("3s",)
        assert connection.execute("SHOW search_path").fetchone() == ("a+b",)
    await database.close()


class Loser:
    """Notes itself, and loses its connection in its first transaction: within it, or with the commit."""

    def __init__(self, *, at_commit: bool) -> None:
        self.at_commit = at_commit
        self.attempts = 0

    def __call__(self, tx: Tx) -> int:
        self.attempts += 1
        tx.conn.execute(
            text("INSERT INTO public.noted VALUES (:number, :ends)"), {"number": self.attempts, "ends": self.ends}
        )
        if self.attempts == 1 and not self.at_commit:
            tx.conn.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
        return self.attempts

    @property
    def ends(self) -> bool:
        return self.attempts == 1 and self.at_commit


NOTED = """
CREATE TABLE noted (number int, ends bool);
CREATE FUNCTION end_me() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF new.ends THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON noted DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION end_me();
"""


async def test_a_transaction_that_lost_its_connection_before_the_commit_is_done_again(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(NOTED)
    database = Database(postgres_url)
    loser = Loser(at_commit=False)
    assert await database.write(loser) == 2
    assert await database.read(lambda conn: conn.execute(text("SELECT number FROM public.noted")).scalars().all()) == [
        2
    ]
    await database.close()


async def test_a_transaction_that_lost_its_connection_at_the_commit_is_not_done_again(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(NOTED)
    database = Database(postgres_url)
    loser = Loser(at_commit=True)
    with pytest.raises(OperationalError, match="terminating connection"):
        await database.write(loser)
    assert loser.attempts == 1
    await database.close()
