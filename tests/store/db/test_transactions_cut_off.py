"""A transaction that the server ends from its side is done again; a client that hangs blocks nobody for long."""

import psycopg
import pytest
from sqlalchemy import text

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
