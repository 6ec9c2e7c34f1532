"""Reads what runs have stored of their steps, for many attempts that begin together by one statement."""

from collections.abc import Mapping, Sequence

from ...core.durable.steps import StoredStep
from ...queue.group_commit import LoopGroupCommit
from ...queue.steps import results_of
from ...store.db.database import Database

READ_FOR = 300.0
"""Seconds for which results are asked for while the database is unavailable."""


class StepReader:
    """While one statement is under way, the attempts that ask next gather."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection = database.autocommit_connection()
        self._group = LoopGroupCommit(self._read)

    async def results(self, run_id: int) -> Mapping[str, StoredStep]:
        """What is stored of the steps of a run, by label."""
        return await self._group.put(run_id)

    async def _read(self, run_ids: Sequence[int]) -> list[Mapping[str, StoredStep]]:
        found = await results_of(self._database, self._connection, [*set(run_ids)], retry_for=READ_FOR)
        return [found.get(run_id, {}) for run_id in run_ids]

    async def close(self) -> None:
        """Read nothing more, and close its connection."""
        await self._group.close()
        if self._connection is not None:
            await self._connection.close()
