"""Somebody who reads events all the time, and a way to write some."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Final

from cronograph.jobs.core.events import Change, Cursor, Event, EventKind
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.statements import events
from tests.support.waiting import eventually

RESYNC: Final = EventKind.RESYNC


def write_changes(tx: Tx, run_ids: Iterable[int]) -> None:
    """One batch for each run."""
    tx.emit(Change(EventKind.RUN_UPDATED, run_id=run_id, job_name="job") for run_id in run_ids)


async def write(database: Database, *run_ids: int) -> None:
    """Batches of one event each."""
    for run_id in run_ids:
        await database.write(write_changes, [run_id])
    await database.write(lambda tx: events.publish(tx.conn))


class Reader:
    """Reads all the time; ``told`` is what it was told: runs, and ``RESYNC``."""

    def __init__(self, source: AsyncGenerator[Event, None]) -> None:
        self.told: list[object] = []
        self.last = Cursor(0, 0)
        self._source = source
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async with aclosing(self._source) as source:
            async for one in source:
                self.last = one.cursor
                self.told.append(one.change.run_id if one.change.kind is not RESYNC else RESYNC)

    async def heard(self, *what: object) -> None:
        """Wait until it was told exactly this."""
        await eventually(lambda: self.told[-len(what) :] == list(what), within=20, message=f"{what}, not {self.told}")
        assert self.told == list(what)
        self.told = []

    async def leave(self) -> None:
        """Go away."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
