"""The watchers of runs and nodes: they release held runs, end overdue ones and rescue those of dead nodes."""

import asyncio
import logging
from datetime import UTC, datetime
from typing import Final

from typing_extensions import override

from ...actions.flows import cancel_overdue
from ...actions.groups import make_block
from ...actions.nodes import note_stall, rescue_expired
from ...core.nodes import SILENT, Node
from ...queue import waits
from ...queue.cancel import are_due, fail_overdue
from ...queue.claims.candidates import skip_due
from ...queue.limits.admission import BucketName, is_anything_held, look_for_forgotten, look_for_slots, look_for_tokens
from ...store.db.database import Database, DBAPIError
from ...store.db.faults import hindrance
from ...store.db.transaction import Tx, Wake
from ...store.statements import nodes
from ...store.statements.prunable import HISTORIES, newest_id
from ..base.service import ChangeDetector, Watch
from ..base.settings import Clock

log = logging.getLogger(__name__)


_LONGEST = 3600.0


class BlockCutter:
    """Makes the blocks of the history into which runs and executions will end, on PostgreSQL; any node may do it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(self) -> int:
        """Make the blocks that will be needed soon; return how many."""
        made = 0
        for history in HISTORIES:
            newest = await self._database.read(newest_id, history)
            try:
                made += await self._database.write(make_block, history, newest)
            except DBAPIError as error:
                why = hindrance(error)
                if why is None:
                    raise
                log.info("no further block for %s now: %s", history.name, why)
        return made


CUT_EVERY: Final = 60.0
"""Seconds between two looks; a fast installation needs hours for a block."""


class Releaser(Watch):
    """One per node, whether or not it has free slots; woken by its timer, by runs that it holds back, by a slow poll.

    The end of an attempt lets the next run of its key go by itself. The rest is time, runs that others held back, and
    runs that kept a place while no node executed them.

    Args:
        poll: Seconds after which it looks without a hint.
    """

    def __init__(self, database: Database, *, poll: float) -> None:
        super().__init__("releaser", hints=Wake.PLACES, poll=poll, should_poll=ChangeDetector(database).should_poll)
        self._database = database
        self._after = ""
        self._freed = False
        self._after_bucket = BucketName("", "")
        self._timer: asyncio.TimerHandle | None = None

    async def look(self) -> None:
        """Let go the runs that may go, and set the timer to the next token."""
        self._set_timer(None)
        if not await self._database.read(is_anything_held):
            return
        self._after_bucket = await self._database.write(look_for_forgotten, self._after_bucket)
        self._set_timer(await self._database.write(_seconds_to_next_token))
        freed, self._freed = self._freed, False
        self._after = await self._database.write(look_for_slots, "" if freed else self._after)
        while freed and self._after:
            self._after = await self._database.write(look_for_slots, self._after)

    @override
    def on_wake(self, wakes: Wake) -> None:
        """Look at all keys if a place became free that no node has let go."""
        self._freed = self._freed or bool(wakes & Wake.PLACES)
        super().on_wake(wakes)

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(min(max(0.0, seconds), _LONGEST), self.poke)

    @override
    async def stop(self) -> None:
        await super().stop()
        self._set_timer(None)


def _seconds_to_next_token(tx: Tx) -> float | None:
    at = look_for_tokens(tx)
    return None if at is None else (at - tx.now).total_seconds()


MISSED: Final = 2
"""Heartbeats that a node misses until it is shown as stalled."""


class Rescuer:
    """Watches the other nodes' heartbeats.

    A node is dead when its lease has run out by the database's clock *and* its counter has not moved for a full lease
    by this process' monotonic clock: a clock that jumps rescues nobody. After two heartbeats without a move it is shown
    as stalled.
    """

    def __init__(self, database: Database, *, own: int, lease: float, heartbeat: float, clock: Clock) -> None:
        self._database = database
        self._own = own
        self._lease = lease
        self._heartbeat = heartbeat
        self._clock = clock
        self._watched: dict[int, tuple[int, float]] = {}
        self._told: set[int] = set()

    async def look(self) -> int:
        """Look once; return how many runs were rescued."""
        live = await self._database.read(nodes.live)
        now = self._clock.monotonic()
        self._watched = {node.id: (node.seq, self._since(node, now)) for node in live if node.id != self._own}
        silent = {node_id for node_id, (_, since) in self._watched.items() if now - since >= self._lease}
        for node in live:
            # Those that are dead are rescued instead: their rows may be locked by others that do so.
            if node.id not in self._watched or node.id in silent or node.stall is not None:
                continue
            if now - self._watched[node.id][1] >= MISSED * self._heartbeat:
                log.warning("node %s has missed %d heartbeats", node.name, MISSED)
                await self._database.write(note_stall, node, SILENT)
        self._told &= silent
        if not silent:
            return 0
        dead, rescued = await self._database.write(_rescue, silent)
        for node in dead:
            # It is tried again while another node is at it, or a claim of the dead one under way; that is not logged.
            if node.id not in self._told:
                log.warning("node %s is dead: no heartbeat since %s", node.name, node.heartbeat_at.isoformat())
        self._told |= {node.id for node in dead}
        if rescued:
            log.warning("rescued %d runs of dead nodes", rescued)
        return rescued

    def _since(self, node: Node, now: float) -> float:
        seq, since = self._watched.get(node.id, (None, now))
        return since if seq == node.seq else now


def _rescue(tx: Tx, silent: set[int]) -> tuple[list[Node], int]:
    dead = [node for node in nodes.expired(tx.conn, tx.now) if node.id in silent]
    return dead, rescue_expired(tx, dead)


EVERY: Final = 5.0
"""Seconds between two looks; a claim asks for itself, so that nothing starts too late meanwhile."""


class Expirer:
    """Looks at the next run that expires or has to end, by one probe of an index for each, and at fulfilled waits.

    It looks at the database's clock, too: a run due before somebody set that back does not wait until it is that
    late again.
    """

    def __init__(self, database: Database, node: str) -> None:
        self._database = database
        self._node = node
        self._seen = datetime.min.replace(tzinfo=UTC)

    async def look(self) -> int:
        """Look once; return how many runs were skipped or failed, and flows cancelled."""
        ended = await self._look_at_waits()
        await self._look_at_clock()
        return ended

    async def _look_at_clock(self) -> None:
        now = await self._database.server_time()
        if now < self._seen:
            brought = 0
            while batch := await self._database.write(waits.bring_forward, self._seen, now):
                brought += batch
            by = (self._seen - now).total_seconds()
            log.warning("the database's clock was set back by at least %.1f s; %d runs were due already", by, brought)
        self._seen = now

    async def _look_at_waits(self) -> int:
        overlooked = await self._database.read(waits.overlooked)
        if overlooked:
            await self._database.write(waits.wake_overlooked, overlooked)
        ended = 0
        while any(await self._database.read(are_due)):
            skipped, failed, cancelled = await self._database.write(_end_due, self._node)
            if skipped:
                log.warning("%d runs were skipped: they had to start by a time that has passed", skipped)
            if failed:
                log.warning("%d runs were failed: their max_duration is over", failed)
            if cancelled:
                log.warning("the runs of a flow were cancelled: its deadline is over")
            ended += skipped + failed + cancelled
            if not skipped + failed + cancelled:
                # Somebody else is at them.
                break
        return ended


def _end_due(tx: Tx, node: str) -> tuple[int, int, int]:
    # The flow first, whose runs are locked after it.
    cancelled = cancel_overdue(tx)
    return skip_due(tx, node), fail_overdue(tx, node), cancelled
