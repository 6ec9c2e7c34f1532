"""Stores the ends of steps, those of many attempts together: alone at once, under load in batches."""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...actions.signal_links import PATH, make_link
from ...core.base.errors import ConfigurationError
from ...core.durable.steps import StepEnd, StoredStep, may_have_steps
from ...core.durable.waits import Wait
from ...queue.claims.claim import Started
from ...queue.steps import EndedStep, store
from ...queue.waits import wait
from ...store.db.database import Database
from ...store.db.faults import is_databases_fault, is_unavailable, is_unstorable
from ..base.backoff import Backoff
from .step_reader import StepReader

log = logging.getLogger(__name__)

MAX_BATCH = 500
"""Steps of one statement."""
MAX_CHARACTERS = 4_000_000
"""Characters of the values of one statement, beyond its first step."""
_PAUSE = 0.2


class StepUnstorableError(Exception):
    """The database cannot store what a step returned."""


class _Waiting(NamedTuple):
    ended: EndedStep
    stored: asyncio.Future[bool]


class StepWriter:
    """While one statement is under way the next steps gather, so batches grow with the load.

    A step waits for as long as the database is away: its job goes on once its result is durable.

    Args:
        database: Where they are stored.
        public_url: Under which address outsiders reach the server; None = it is not known.
    """

    def __init__(self, database: Database, public_url: str | None = None) -> None:
        self._database = database
        self._public_url = public_url
        self._connection = database.autocommit_connection()
        self._reader = StepReader(database)
        self._waiting: list[_Waiting] = []
        self._writer: asyncio.Task[None] | None = None

    def may_have(self, started: Started) -> bool:
        """Whether something may be stored of steps before this attempt."""
        return may_have_steps(started.run.attempt, started.run.trigger)

    async def stored(self, started: Started) -> Mapping[str, StoredStep]:
        """The results that the run has, by label."""
        return await self._reader.results(started.run.id)

    def keep(self, started: Started, end: StepEnd) -> asyncio.Future[bool]:
        """Have the end of a step stored; False = refused, since the run was taken from this node."""
        stored: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(EndedStep(started.run, end), stored))
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write_all(), name="cronograph-steps")
        return stored

    async def wait(self, started: Started, asked: Wait) -> StoredStep | None:
        """Begin or end a wait; None = refused, since the run was taken from this node."""
        backoff = Backoff(_PAUSE)
        while True:
            try:
                return await self._database.write(wait, started.run, asked)
            except Exception as error:
                if not is_unavailable(error):
                    raise
                # Whether it was committed or not: the same again changes nothing.
                pause = backoff.fail()
                log.warning("the wait '%s' could not be stored, again in %.1f s: %s", asked.label, pause, error)
                await asyncio.sleep(pause)

    async def signal_url(self, started: Started, label: str) -> str | None:
        """A new address for the signal that a wait takes; None = refused, since the run was taken from this node.

        Raises:
            ConfigurationError: nobody has said under which address outsiders reach the server.
            InvalidState: the run has made too many.
        """
        if self._public_url is None:
            raise ConfigurationError(
                "signal_url: this node does not know under which address people reach the server; set public_url "
                "(CRONOGRAPH_PUBLIC_URL), e.g. https://cron.example.com"
            )
        token = await self._database.write(make_link, started.run, label)
        return None if token is None else f"{self._public_url.rstrip('/')}{PATH}/{token}"

    async def _write_all(self) -> None:
        batch: list[_Waiting] = []
        try:
            # Let every step that ends in this turn of the loop join the batch.
            await asyncio.sleep(0)
            while batch := self._take():
                await self._write(batch)
        finally:
            # Nobody else would end the waiting of jobs, whatever ended this.
            self._writer = None
            left, self._waiting = [*batch, *self._waiting], []
            for one in left:
                if not one.stored.done():
                    one.stored.cancel()

    def _take(self) -> list[_Waiting]:
        """The steps of the next statement: of one life of a node."""
        taken: list[_Waiting] = []
        size = 0
        for one in self._waiting:
            run, first = one.ended.run, taken[0].ended.run if taken else one.ended.run
            size += _size(one.ended.end)
            if taken and (run.node_id != first.node_id or size > MAX_CHARACTERS or len(taken) == MAX_BATCH):
                break
            taken.append(one)
        self._waiting = self._waiting[len(taken) :]
        return taken

    async def _write(self, batch: Sequence[_Waiting]) -> None:
        backoff = Backoff(_PAUSE)
        while True:
            try:
                await self._write_once(batch)
                return
            except Exception as error:
                if is_unstorable(error):
                    await self._write_apart(batch, error)
                    return
                if not is_databases_fault(error):
                    raise
                # The commit may or may not have happened; the statement is idempotent, so repeat it.
                pause = backoff.fail()
                log.warning("storing %d steps failed, again in %.1f s: %s", len(batch), pause, error)
                await asyncio.sleep(pause)

    async def _write_once(self, batch: Sequence[_Waiting]) -> None:
        run = batch[0].ended.run
        node = (run.node_id or 0, run.node or "")
        kept = await store(self._database, self._connection, node, [one.ended for one in batch])
        for one, is_stored in zip(batch, kept, strict=True):
            if not one.stored.done():
                one.stored.set_result(is_stored)

    async def _write_apart(self, batch: Sequence[_Waiting], error: Exception) -> None:
        """One value that no database stores must not hold up the others."""
        if len(batch) > 1:
            for one in batch:
                await self._write([one])
            return
        label = batch[0].ended.end.label
        if not batch[0].stored.done():
            batch[0].stored.set_exception(
                StepUnstorableError(f"what step '{label}' returned cannot be stored by the database: {error}")
            )

    async def close(self) -> None:
        """Store nothing more, and close its connection; jobs that still wait are cancelled."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.wait([self._writer])
        await self._reader.close()
        if self._connection is not None:
            await self._connection.close()


def _size(end: StepEnd) -> int:
    """How many characters of JSON its value has, which is few unless it is one of these."""
    value: object = end.value
    return len(json.dumps(value)) if isinstance(value, str | list | dict) else 0
