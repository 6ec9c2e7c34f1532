"""Progress is written now and then, and kept while it cannot be."""

import pytest

from cronograph.jobs.runtime.live.writers import ProgressWriter
from cronograph.jobs.store.db.database import Database, SQLAlchemyError
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.jobs.store.statements import runs
from tests.support.storage import Stored


def hide(tx: Tx) -> None:
    """Runs cannot be written."""
    tx.conn.execute(SchemaText("ALTER TABLE cronograph.run RENAME TO hidden"))


def show(tx: Tx) -> None:
    """They can again."""
    tx.conn.execute(SchemaText("ALTER TABLE cronograph.hidden RENAME TO run"))


async def test_progress_that_could_not_be_written_is_kept_unless_newer_has_come(
    database_url: str, stored: Stored
) -> None:
    node = stored.node()
    for _ in range(2):
        stored.enqueue()
    begun = [node.start(), node.start()]
    database = Database(database_url)
    writer = ProgressWriter(database)
    for started in begun:
        writer.show(started, {"done": 1})
    await database.write(hide)
    with pytest.raises(SQLAlchemyError):
        await writer.look()
    await database.write(show)
    writer.show(begun[1], {"done": 2})
    await writer.look()
    found = await database.read(runs.by_ids, [one.run.id for one in begun])
    assert [found[one.run.id].progress for one in begun] == [{"done": 1}, {"done": 2}]
    await database.close()
