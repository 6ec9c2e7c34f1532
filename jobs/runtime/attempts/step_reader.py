"""Reads what runs have stored of their steps, for many attempts that begin together by one statement."""

import asyncio
from collections.abc import Mapping

from ...core.durable.steps import StoredStep
from ...queue.steps import results_of
from ...store.db.database import Database

READ_FOR = 300.0
"""Seconds for which results are asked for while the database is away."""


class StepReader:
    """While one statement is under way, the attempts that ask next gather.

    Args:
        database: Where they are stored.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection = database.autocommit_connection()
        self._asked: dict[int, asyncio.Future[Mapping[str, StoredStep]]] = {}
        self._reader: asyncio.Task[None] | None = None

    async def results(self, run_id: int) -> Mapping[str, StoredStep]:
        """What is stored of the steps of a run, by label."""
        asked = self._asked.get(run_id)
        if asked is None:
            asked = self._asked[run_id] = asyncio.get_running_loop().create_future()
        if self._reader is None:
            self._reader = asyncio.get_running_loop().create_task(self._read_all(), name="cronograph-step-results")
        return await asyncio.shield(asked)

    async def _read_all(self) -> None:
        asked: dict[int, asyncio.Future[Mapping[str, StoredStep]]] = {}
        try:
            # Let every attempt that begins in this turn of the loop join.
            await asyncio.sleep(0)
            while self._asked:
                asked, self._asked = self._asked, {}
                await self._read(asked)
        finally:
            # Nobody else would end the waiting of jobs, whatever ended this.
            self._reader = None
            left, self._asked = {**asked, **self._asked}, {}
            for one in left.values():
                if not one.done():
                    one.cancel()

    async def _read(self, asked: Mapping[int, asyncio.Future[Mapping[str, StoredStep]]]) -> None:
        try:
            found = await results_of(self._database, self._connection, list(asked), retry_for=READ_FOR)
        except Exception as error:
            for one in asked.values():
                if not one.done():
                    one.set_exception(error)
            return
        for run_id, one in asked.items():
            if not one.done():
                one.set_result(found.get(run_id, {}))

    async def close(self) -> None:
        """Read nothing more, and close its connection."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait([self._reader])
        if self._connection is not None:
            await self._connection.close()
