"""Writes the ends of many attempts in one transaction: alone at once, under load together."""

import asyncio
import logging
from dataclasses import dataclass, replace

from ..actions.finish import Finish, finish
from ..core.outcome import Failed
from ..store.database import Database, InterfaceError, OperationalError, SQLAlchemyError

log = logging.getLogger(__name__)

MAX_BATCH = 500
_PAUSE = 0.2
_UNSTORABLE = "UnstorableResult"
_LONGEST_PAUSE = 5.0


@dataclass(frozen=True, slots=True)
class _Ended:
    finish: Finish
    accepted: asyncio.Future[bool]


class Finisher:
    """Groups ends: while one transaction is under way the next ones gather, so batches grow with the load."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[_Ended] = []
        self._writer: asyncio.Task[None] | None = None

    async def submit(self, ended: Finish) -> bool:
        """Write the end of an attempt and wait until it is durable; False if it was stale and refused.

        A database that is away is waited for: a result is never dropped while the process lives.
        """
        waiting = _Ended(ended, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write_all(), name="cronograph-finisher")
        return await asyncio.shield(waiting.accepted)

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                # Let everything that ends in this turn of the loop join the batch.
                await asyncio.sleep(0)
                batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                await self._write_safely(batch)
        finally:
            self._writer = None

    async def _write_safely(self, batch: list[_Ended]) -> None:
        pause = _PAUSE
        while True:
            try:
                await self._write(batch)
                return
            except (OperationalError, InterfaceError, TimeoutError, OSError) as error:
                # The commit may or may not have happened; the statements are idempotent, so repeat them.
                log.warning("writing %d results failed, again in %.1f s: %s", len(batch), pause, error)
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, pause * 2)
            except SQLAlchemyError as error:
                await self._write_apart(batch, error)
                return

    async def _write_apart(self, batch: list[_Ended], error: SQLAlchemyError) -> None:
        """One result that the database refuses must not hold up the others: store that one as a failure."""
        if len(batch) > 1:
            for ended in batch:
                await self._write_safely([ended])
            return
        (ended,) = batch
        if isinstance(ended.finish.outcome, Failed) and ended.finish.outcome.error_type == _UNSTORABLE:
            raise error
        log.error("the result of run %d cannot be stored: %s", ended.finish.run.id, error)
        refused = Failed(_UNSTORABLE, "the result of the job cannot be stored by the database", permanent=True)
        await self._write_safely([_Ended(replace(ended.finish, outcome=refused, progress=None), ended.accepted)])

    async def _write(self, batch: list[_Ended]) -> None:
        by_node: dict[tuple[int, str], list[_Ended]] = {}
        for ended in batch:
            run = ended.finish.run
            by_node.setdefault((run.node_id or 0, run.node_name or ""), []).append(ended)
        for (node_id, node), group in by_node.items():
            result = await self._database.write(finish, node_id, node, [ended.finish for ended in group])
            for ended in group:
                if not ended.accepted.done():
                    ended.accepted.set_result(ended.finish.run.id in result.accepted)

    async def flush(self) -> None:
        """Wait until everything submitted so far is written."""
        writer = self._writer
        if writer is not None:
            await asyncio.shield(writer)
