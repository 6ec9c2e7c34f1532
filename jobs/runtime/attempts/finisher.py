"""Stores the ends of many attempts in one transaction: alone at once, under load together."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from ...base.services import Services
from ...core.outcome import Failed
from ...queue.finish import Finish, Finished, store
from ...store.db.faults import is_passing, is_unstorable
from ..base.backoff import repeated
from ..base.pulse import Pulse

log = logging.getLogger(__name__)

MAX_BATCH = 500
_PAUSE = 0.2
_UNSTORABLE = "UnstorableResult"


class Finisher:
    """Groups ends: while one transaction is under way the next ones gather, so batches grow with the load.

    Somebody who is about to open a transaction anyway may ``lend`` it: ends are then taken along by ``take``. Without
    such help, and when that transaction failed, the finisher writes them itself and never gives up: a result is not
    dropped while the process lives, however long the database is unavailable.

    Args:
        services: The database where they are stored, and what counts them once they are.
        stored: Called for each end once it is durable; False = it was stale and refused.
        written: Called after ends that the finisher has written itself.
        died: Called when a fault of our own ended it, with the ends that it will not store: its node must not go on.

    Attributes:
        on_foreign: Called with the signatures of other versions of its jobs that other nodes have, when an end shows
            that they matter.
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
        self._is_dead = False
        # By execution: taken by this finisher, and not known to be stored.
        self._in_hand: dict[int, Finish] = {}
        self._waiting: list[Finish] = []
        self.pulse = Pulse("finisher")
        self._writer: asyncio.Task[None] | None = None
        # Runs while nothing that waits is wanted at once.
        self._gathering: asyncio.TimerHandle | None = None
        self._helper: Callable[[], None] | None = None

    def lend(self, helper: Callable[[], None]) -> None:
        """From now on ``helper`` gets ends and takes them along."""
        self._helper = helper

    def reclaim(self) -> None:
        """Nobody takes ends along any more."""
        self._helper = None
        self._write_soon()

    def submit(self, ended: Finish, within: float = 0.0) -> None:
        """Have the end of an attempt stored.

        Args:
            ended: The end.
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
        """Ends to be stored now, one of a run at most; the caller then calls ``confirm`` or ``give_back``."""
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
        """These ends are durable."""
        if finished.foreign is not None and self.on_foreign is not None:
            self.on_foreign(finished.foreign)
        batch = [finished.as_stored(ended) for ended in batch] if finished.judged else batch
        self._counts.ended(batch, finished.accepted)
        for ended in batch:
            self._in_hand.pop(ended.execution_id, None)
            self._stored(ended, ended.run.id in finished.accepted)
        if self._waiting or self._in_hand:
            self.pulse.beat()
        else:
            self.pulse.done()

    def give_back(self, batch: Sequence[Finish]) -> None:
        """These ends may be durable or not: the finisher sees to it by itself."""
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
        lost, self._in_hand, self._waiting = [*self._in_hand.values(), *self._waiting], {}, []
        self._died(lost)

    async def _write_all(self) -> None:
        # Let everything that ends in this turn of the loop join the batch.
        await asyncio.sleep(0)
        while self._gathering is None and (batch := self.take()):
            self._in_hand = {ended.execution_id: ended for ended in batch}
            await self._write_safely(batch)
            self._written()
            await asyncio.sleep(0)

    async def _write_safely(self, batch: list[Finish]) -> None:
        def note(pause: float, error: Exception) -> None:
            log.warning("writing %d results failed, again in %.1f s: %s", len(batch), pause, error)

        async def write() -> None:
            await self._write([ended for ended in batch if ended.execution_id in self._in_hand])

        try:
            # The commit may or may not have happened; the statements are idempotent.
            await repeated(write, is_passing, note, _PAUSE)
        except Exception as error:
            if not is_unstorable(error):
                raise
            await self._write_apart(batch, error)

    async def _write_apart(self, batch: list[Finish], error: Exception) -> None:
        """One result that no database stores must not hold up the others: store that one as a failure."""
        left = [ended for ended in batch if ended.execution_id in self._in_hand]
        if len(left) > 1:
            for ended in left:
                await self._write_safely([ended])
            return
        (ended,) = left
        if isinstance(ended.outcome, Failed) and ended.outcome.error_type == _UNSTORABLE:
            raise error
        log.error("the result of run %d cannot be stored: %s", ended.run.id, error)
        await self._write_safely([_bare_failure(ended)])

    async def _write(self, batch: list[Finish]) -> None:
        async for stored, finished in store(self._database, self._connection, batch):
            self.confirm(stored, finished)

    async def close(self) -> None:
        """Close its connection."""
        if self._connection is not None:
            await self._connection.close()


def _bare_failure(ended: Finish) -> Finish:
    """The end of an attempt whose result cannot be stored, without anything that its job brought along."""
    refused = Failed(_UNSTORABLE, "the result of the job cannot be stored by the database", permanent=True)
    kept, cut = ended.log_lines - len(ended.log_tail), ended.log_cut + len(ended.log_tail)
    return replace(ended, outcome=refused, progress=None, log_tail=(), log_lines=kept, log_cut=cut)
