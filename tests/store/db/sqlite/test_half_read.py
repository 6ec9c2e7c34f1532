"""A transaction that fails in the middle of an answer keeps nobody from writing, even while the answer is held."""

from typing import Any

import pytest
from sqlalchemy import text

from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx


async def test_a_write_that_fails_in_the_middle_of_an_answer_gives_its_lock_back(sqlite_url: str) -> None:
    database = Database(sqlite_url)
    held: list[Any] = []

    def half_read(tx: Tx) -> None:
        tx.conn.execute(text("UPDATE event_publisher SET last_seq = 7"))
        rows = tx.conn.execute(text("SELECT value FROM json_each('[1, 2, 3]')"))
        # As a traceback does that somebody keeps: the file is not closed before the last statement on it is gone.
        held.append(rows.cursor)
        assert rows.cursor is not None
        rows.cursor.fetchone()
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        await database.write(half_read)
    other = Database(sqlite_url)
    seq = await other.write(lambda tx: tx.conn.execute(text("SELECT last_seq FROM event_publisher")).scalar_one())
    assert (seq, len(held) > 0) == (0, True)
    await other.close()
    await database.close()
