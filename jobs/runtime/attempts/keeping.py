"""Read and store for running jobs: their steps, waits, checkpoints, and the runs that they enqueue."""

import asyncio
import json
import logging
from collections.abc import Iterable, Mapping, Sequence

from ...actions.run_changes import changed
from ...actions.runs import save_checkpoint
from ...actions.signals import PATH, make_link
from ...core.base.errors import ConfigurationError, python_names
from ...core.base.tracing import TRACED
from ...core.flows import FlowSpec
from ...core.model import Json
from ...core.run_spec import RunSpec, RunTarget
from ...core.states import RunState
from ...core.steps import StepEnd, StoredStep, may_have_steps
from ...core.waits import RunChange, Wait
from ...queue.claims.claim import Started
from ...queue.enqueue.enqueue import put_many
from ...queue.flows.new_flows import put_spec
from ...queue.group_commit import LoopGroupCommit
from ...queue.steps import EndedStep, results_of, store
from ...queue.waits import wait
from ...store.db.database import Database
from ...store.db.faults import ErrorKind, kind_of, log_fault
from ..base.service import Backoff, repeated

log = logging.getLogger(__name__)

READ_FOR = 300.0
"""Seconds for which results are asked for while the database is unavailable."""
MAX_BATCH = 500
"""Steps of one statement."""
MAX_CHARACTERS = 4_000_000
"""Characters of the values of one statement, beyond its first step."""
_PAUSE, _LONGEST_PAUSE = 0.2, 30.0
"""Seconds before a failed write is tried again: the first time, and the longest."""


class StepUnstorableError(Exception):
    """The database cannot store the value of a step."""


class Keeping:
    """The way of running jobs to the database.

    While one statement is under way, the next steps gather, so batches grow with the load. A step waits for as long as
    the database is unavailable: its job goes on once its result is durable. A step that meets a fault of ours, such as
    a missing table, waits by itself, and the others go on.

    Args:
        public_url: The address under which outsiders reach the server; None = unknown.
    """

    def __init__(self, database: Database, public_url: str | None = None) -> None:
        self._database = database
        self._public_url = public_url
        self._writing = database.autocommit_connection()
        self._reading = database.autocommit_connection()
        self._results = LoopGroupCommit(self._read)
        # One value that no database stores must not hold up the others.
        self._ends = LoopGroupCommit(self._write, _count_together)
        # Steps that wait for another try after a fault.
        self._put_off: set[asyncio.Future[bool]] = set()

    async def enqueue(self, asked: Sequence[RunSpec] | FlowSpec) -> list[int]:
        """Put runs or a flow into the queue; return the ids of the runs, or that of the flow alone."""
        if isinstance(asked, FlowSpec):
            return [await self._database.write(TRACED.here(put_spec), asked)]
        return await self._database.write(TRACED.here(put_many), asked)

    async def change(self, target: RunTarget, change: RunChange) -> RunState:
        """Change a run of the queue; return its state then."""
        with python_names():
            return (await self._database.write(changed, target, change)).state

    async def save_checkpoint(self, started: Started, value: Json) -> None:
        """Store a checkpoint, unless the run was taken from this node."""
        kept = await self._database.write(save_checkpoint, started.run, value)
        if not kept:
            log.warning("a checkpoint of run %d was refused: the run had been taken from this node", started.run.id)

    def may_have(self, started: Started) -> bool:
        """Return whether earlier attempts may have stored steps."""
        return may_have_steps(started.run.attempt, started.run.trigger)

    async def stored(self, started: Started) -> Mapping[str, StoredStep]:
        """Return the stored steps of the run, by label."""
        return await self._results.put(started.run.id)

    async def _read(self, run_ids: Sequence[int]) -> list[Mapping[str, StoredStep]]:
        found = await results_of(self._database, self._reading, [*set(run_ids)], retry_for=READ_FOR)
        return [found.get(run_id, {}) for run_id in run_ids]

    def keep(self, started: Started, end: StepEnd) -> asyncio.Future[bool]:
        """Store the end of a step; False = refused, since the run was taken from this node."""
        kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._try(EndedStep(started.run, end), kept, Backoff(_PAUSE, _LONGEST_PAUSE))
        return kept

    def _try(self, ended: EndedStep, kept: asyncio.Future[bool], backoff: Backoff) -> None:
        self._put_off.discard(kept)
        if kept.cancelled():
            # Nothing more is stored.
            return
        self._ends.begin(ended).add_done_callback(lambda answer: self._answered(answer, ended, kept, backoff))

    def _answered(
        self, answer: asyncio.Future[bool], ended: EndedStep, kept: asyncio.Future[bool], backoff: Backoff
    ) -> None:
        if answer.cancelled():
            kept.cancel()
            return
        error = answer.exception()
        if error is not None and kind_of(error) is ErrorKind.FAULT:
            pause = backoff.fail()
            log_fault(
                log, f"step '{ended.end.label}' of run {ended.run.id} is not stored, again in {pause:.1f} s", error
            )
            self._put_off.add(kept)
            asyncio.get_running_loop().call_later(pause, self._try, ended, kept, backoff)
        elif kept.done():
            # Its job has left; the end is stored, or cannot be.
            return
        elif error is None:
            kept.set_result(answer.result())
        else:
            refused = f"the result of step '{ended.end.label}' cannot be stored by the database: {error}"
            kept.set_exception(StepUnstorableError(refused))

    async def _write(self, ends: Sequence[EndedStep]) -> Sequence[bool]:
        run = ends[0].run
        node = (run.node_id or 0, run.node or "")

        def note(pause: float, error: Exception) -> None:
            log.warning("storing %d steps failed, again in %.1f s: %s", len(ends), pause, error)

        # The commit may or may not have happened; the statement is idempotent.
        return await repeated(lambda: store(self._database, self._writing, node, ends), note, _PAUSE)

    async def wait(self, started: Started, asked: Wait) -> StoredStep | None:
        """Begin or end a wait; None = refused, since the run was taken from this node."""

        def note(pause: float, error: Exception) -> None:
            log.warning("the wait '%s' could not be stored, again in %.1f s: %s", asked.label, pause, error)

        # Whether it was committed or not: the same again changes nothing.
        return await repeated(lambda: self._database.write(wait, started.run, asked), note, _PAUSE)

    async def signal_url(self, started: Started, label: str, page: Mapping[str, Json] | None) -> str | None:
        """Return a new address for the signal of a wait; None = refused, since the run was taken from this node.

        Raises:
            ConfigurationError: the address under which outsiders reach the server is unknown.
            InvalidState: the run has made too many.
        """
        if self._public_url is None:
            raise ConfigurationError(
                "signal_url: this node does not know under which address people reach the server; set public_url "
                "(CRONOGRAPH_PUBLIC_URL), e.g. https://cron.example.com"
            )
        token = await self._database.write(make_link, started.run, label, page)
        return None if token is None else f"{self._public_url.rstrip('/')}{PATH}/{token}"

    async def close(self) -> None:
        """Store nothing more, and close the connections; jobs that still wait are cancelled."""
        for kept in self._put_off:
            kept.cancel()
        await self._ends.close()
        await self._results.close()
        for connection in (self._writing, self._reading):
            if connection is not None:
                await connection.close()


def _count_together(ends: Iterable[EndedStep]) -> int:
    """Return how many of the first ends one statement stores: those of one life of a node."""
    size, node_id = 0, None
    for count, one in enumerate(ends):
        size += _size(one.end)
        if count and (one.run.node_id != node_id or size > MAX_CHARACTERS or count == MAX_BATCH):
            return count
        node_id = one.run.node_id
    return MAX_BATCH


def _size(end: StepEnd) -> int:
    value: object = end.value
    return len(json.dumps(value)) if isinstance(value, str | list | dict) else 0
