"""Stores the ends of many attempts in one transaction: alone at once, under load together."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ...base.services import Services
from ...core.outcome import Cancelled, Failed, HandedBack, JobOutcome, Lost, TimedOut
from ...queue.claims.claim import Claimant, Started
from ...queue.finish import Finish, Finished, finish_or_bare, store
from ...store.db.faults import ErrorKind, first_line, kind_of, log_fault
from ..base.service import Backoff, Pulse, repeated

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_BATCH = 500
_PAUSE = 0.2
_LONGEST_ASIDE = 30.0
_UNSTORABLE = "UnstorableResult"


@dataclass(slots=True)
class _Trouble:
    """The reason why an end cannot be stored as it is, and the time of the next try."""

    reason: str
    backoff: Backoff = field(default_factory=lambda: Backoff(_PAUSE, longest=_LONGEST_ASIDE))
    timer: asyncio.TimerHandle | None = None


class Finisher:
    """Groups ends: while one transaction is under way the next ones gather, so batches grow with the load.

    Somebody who is about to open a transaction anyway may ``lend`` it: ends are then taken along by ``take``. Without
    such help, and when that transaction failed, the finisher writes them itself and never gives up: a result is not
    dropped while the process lives, however long the database is unavailable. A batch that fails as a whole is halved
    until the end that is to blame stands alone. That one is stored bare, as a failure with the reason; if even this
    fails, it is tried again later, and the others go on.

    Args:
        services: The database where they are stored, and the counters of stored ends.
        stored: Called for each end once it is durable; False = it was stale and refused.
        written: Called after ends that the finisher has written itself.
        died: Called when a fault of our own outside the database ended it, with the ends that it will not store: its
            node must not go on.

    Attributes:
        on_foreign: Called with the signatures of other versions of its jobs that other nodes have, when an end shows
            that they matter.
        writing: Held while it stores ends: their direct effects are unknown here until the answer has come.
    """

    def __init__(
        self,
        services: Services,
        stored: Callable[[Finish, bool], None],
        written: Callable[[], None],
        died: Callable[[Sequence[Finish]], None],
    ) -> None:
        self._database = services.database
        self._counts = services.counts
        self._stored = stored
        self._written = written
        self._died = died
        self.on_foreign: Callable[[frozenset[str]], None] | None = None
        self._connection = services.database.autocommit_connection()
        self._heir: Callable[[], Claimant | None] = lambda: None
        self._begin: Callable[[Sequence[Started]], None] | None = None
        self.writing = asyncio.Lock()
        self._is_dead = False
        # By execution: taken by this finisher, and not known to be stored.
        self._in_hand: dict[int, Finish] = {}
        self._waiting: list[Finish] = []
        # By execution: could not even be stored bare, and come again after a pause.
        self._aside: dict[int, Finish] = {}
        self._troubles: dict[int, _Trouble] = {}
        self.pulse = Pulse("finisher")
        self._writer: asyncio.Task[None] | None = None
        # Runs while nothing that waits is wanted at once.
        self._gathering: asyncio.TimerHandle | None = None
        self._helper: Callable[[], None] | None = None

    @property
    def waiting(self) -> int:
        """The number of ends that are not being stored yet."""
        return len(self._waiting)

    def is_writer(self, task: "asyncio.Task[object] | None") -> bool:
        """Return whether a task is the one in which ends are written."""
        return task is not None and task is self._writer

    def go_on(self, heir: Callable[[], Claimant | None], begin: Callable[[Sequence[Started]], None]) -> None:
        """Give ``begin`` the runs that follow at once from now on, while ``heir`` returns the node that may do so."""
        self._heir, self._begin = heir, begin

    def lend(self, helper: Callable[[], None]) -> None:
        """Let ``helper`` take ends along from now on."""
        self._helper = helper

    def reclaim(self) -> None:
        """Stop lending ends to a helper."""
        self._helper = None
        self._write_soon()

    def submit(self, ended: Finish, within: float = 0.0) -> None:
        """Submit the end of an attempt, to be stored.

        Args:
            within: Seconds for which it may wait for others, to be stored with them.
        """
        is_first = not self._waiting
        self._waiting.append(ended)
        self.pulse.wanted()
        if self._is_dead:
            self._give_up()
        elif within <= 0 or (self._gathering is None and not is_first):
            self._store_soon()
        elif self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(within, self._store_soon)

    def _store_soon(self) -> None:
        if self._helper is None:
            self._write_soon()
        else:
            self._gather_no_more()
            self._helper()

    def _gather_no_more(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None

    def take(self) -> list[Finish]:
        """Take ends to be stored now, at most one per run; the caller then calls ``confirm`` or ``give_back``."""
        self._gather_no_more()
        taken: dict[int, Finish] = {}
        left: list[Finish] = []
        for ended in self._waiting:
            if len(taken) < MAX_BATCH and ended.run.id not in taken:
                taken[ended.run.id] = ended
            else:
                left.append(ended)
        self._waiting = left
        return list(taken.values())

    def confirm(self, batch: Sequence[Finish], finished: Finished) -> None:
        """Note that these ends are durable."""
        if finished.foreign is not None and self.on_foreign is not None:
            self.on_foreign(finished.foreign)
        if finished.started and self._begin is not None:
            # Before their slots are free.
            self._begin(finished.started)
        batch = [finished.as_stored(ended) for ended in batch] if finished.judged else batch
        self._counts.ended(batch, finished.accepted)
        for ended in batch:
            self._in_hand.pop(ended.execution_id, None)
            if self._troubles:
                self._troubles.pop(ended.execution_id, None)
            self._stored(ended, ended.run.id in finished.accepted)
        if self._waiting or self._in_hand:
            self.pulse.beat()
        else:
            self.pulse.done()

    def give_back(self, batch: Sequence[Finish]) -> None:
        """Take back ends that may be durable or not: the finisher sees to them by itself."""
        self._waiting = [*batch, *self._waiting]
        if batch:
            self._write_soon()

    def _write_soon(self) -> None:
        self._gather_no_more()
        if self._waiting and self._writer is None and not self._is_dead:
            self._writer = asyncio.get_running_loop().create_task(self._write_all(), name="cronograph-finisher")
            self._writer.add_done_callback(self._writer_left)

    def _writer_left(self, writer: asyncio.Task[None]) -> None:
        self._writer = None
        if writer.cancelled():
            return
        fault = writer.exception()
        if fault is None:
            # What was submitted after its last look, before the loop came here.
            if self._gathering is None:
                self._write_soon()
        else:
            log.critical("this node can store no more results", exc_info=fault)
            self._is_dead = True
            self._give_up()

    def _give_up(self) -> None:
        lost = [*self._in_hand.values(), *self._waiting, *self._aside.values()]
        self._forget_aside()
        self._in_hand, self._waiting = {}, []
        self._died(lost)

    async def _write_all(self) -> None:
        # Let everything that ends in this turn of the loop join the batch.
        await asyncio.sleep(0)
        while self._gathering is None and (batch := self.take()):
            self._in_hand = {ended.execution_id: ended for ended in batch}
            await self._write_safely(batch)
            self._written()
            await asyncio.sleep(0)

    async def _write_safely(self, batch: Sequence[Finish]) -> None:
        """Store ends; of a batch that fails as a whole each half, until the one that is to blame stands alone."""

        async def write() -> None:
            await self._write([ended for ended in batch if ended.execution_id in self._in_hand])

        try:
            # What is in conflict again and again is halved as well: the smaller a transaction, the less is in its way.
            await self._repeated(write, len(batch))
        except Exception as error:
            left = [ended for ended in batch if ended.execution_id in self._in_hand]
            half = len(left) // 2
            if half:
                await self._write_safely(left[:half])
                await self._write_safely(left[half:])
            elif left:
                await self._write_alone(left[0], error)

    async def _repeated(self, write: Callable[[], Awaitable[T]], count: int) -> T:
        """Store ends, again and again while the database is unavailable; repeating a commit is harmless."""

        def note(pause: float, error: Exception) -> None:
            what = "1 result" if count == 1 else f"{count} results"
            log.warning("storing %s failed, again in %.1f s: %s", what, pause, first_line(error))

        return await repeated(write, note, _PAUSE, during={ErrorKind.UNAVAILABLE})

    async def _write_alone(self, ended: Finish, error: Exception) -> None:
        """Store an end bare that cannot be stored as it is; one that cannot even be stored so comes again later."""
        kind, run = kind_of(error), ended.run
        known = self._troubles.get(ended.execution_id)
        if known is None:
            what = f"the result of run {run.id} (execution {ended.execution_id}) cannot be stored"
            known = self._troubles[ended.execution_id] = _Trouble(_reason(kind, log_fault(log, what, error)))
        if not kind.passes:
            bare = _bare(ended, known.reason)
            node_id, node = run.node_id or 0, run.node or ""
            try:
                stored, finished = await self._repeated(
                    lambda: self._database.write(finish_or_bare, node_id, node, ended, bare), 1
                )
            except Exception as fault:
                error = fault
            else:
                self.confirm([stored], finished)
                return
        pause = known.backoff.fail()
        log.warning("storing the result of run %d failed, again in %.1f s: %s", run.id, pause, first_line(error))
        self._aside[ended.execution_id] = self._in_hand.pop(ended.execution_id)
        known.timer = asyncio.get_running_loop().call_later(pause, self._come_again, ended)

    def _come_again(self, ended: Finish) -> None:
        del self._aside[ended.execution_id]
        self._waiting.append(ended)
        self._write_soon()

    def _forget_aside(self) -> None:
        for trouble in self._troubles.values():
            if trouble.timer is not None:
                trouble.timer.cancel()
        self._aside, self._troubles = {}, {}

    async def _write(self, batch: list[Finish]) -> None:
        async with self.writing:
            async for stored, finished in store(self._database, self._connection, batch, self._heir()):
                self.confirm(stored, finished)

    async def close(self) -> None:
        """Close its connection."""
        self._forget_aside()
        if self._connection is not None:
            await self._connection.close()


def _reason(kind: ErrorKind, error_id: str | None) -> str:
    if kind is ErrorKind.REFUSAL:
        return "the result of the job cannot be stored by the database"
    return f"the result of the job could not be stored: internal error, id {error_id}; the node's log has the reason"


def _bare(ended: Finish, reason: str) -> Finish:
    """Return an end that cannot be stored as a failure, without anything that its job brought along."""
    kept, cut = ended.log_lines - len(ended.log_tail), ended.log_cut + len(ended.log_tail)
    return replace(
        ended, outcome=_bare_outcome(ended.outcome, reason), progress=None, log_tail=(), log_lines=kept, log_cut=cut,
        at_end=(), unused_steps=frozenset(), trace_id=None,
    )  # fmt: skip


def _bare_outcome(outcome: JobOutcome, reason: str) -> JobOutcome:
    match outcome:
        case Failed() | TimedOut():
            # It keeps its retries.
            return replace(outcome, message=reason, traceback=None)
        case Cancelled() | HandedBack() | Lost():
            return outcome
        case _:
            return Failed(_UNSTORABLE, reason, permanent=True)
