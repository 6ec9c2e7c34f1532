"""On SQLite a process asks its file for the commits of others, and knows its own from theirs."""

import itertools

from sqlalchemy import insert

from cronograph.jobs.runtime.base.wakeup import Wakeup
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx, Wake
from cronograph.jobs.store.schema.tables import queue_group
from tests.support.waiting import eventually


def write(tx: Tx, name: str) -> None:
    """Something that concerns nobody."""
    tx.conn.execute(insert(queue_group).values(name=name))


async def test_own_commits_that_concern_nobody_do_not_make_the_node_commit_again(sqlite_url: str) -> None:
    heard: list[Wake] = []
    database, other = Database(sqlite_url), Database(sqlite_url)
    names = map(str, itertools.count())
    wakeup = Wakeup(database)
    wakeup.subscribe(heard.append)
    wakeup.start()

    async def hears(writer: Database, wakes: Wake) -> bool:
        await writer.write(write, next(names))
        return wakes in heard

    await eventually(lambda: hears(database, ~Wake.NODES))
    # Its heartbeat answers to what concerns nodes, and is a commit itself.
    assert set(heard) == {~Wake.NODES}
    await eventually(lambda: hears(other, ~Wake.NONE))
    await wakeup.stop()
    await database.close()
    await other.close()
