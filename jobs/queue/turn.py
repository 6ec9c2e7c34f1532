"""A node's turn: one transaction stores the ends of its attempts and fills the slots that they leave.

So a run costs one transaction, not two, and never more than the node's slots are running, by the log as well.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..store.db.database import Database
from ..store.db.faults import kind_of, log_fault
from ..store.db.transaction import Tx
from .base import statements
from .claims.candidates import next_available, pending_of
from .claims.claim import Claimant, Claimed, Standing, Started, claim_more, standing_of, start_more
from .claims.fairness import FairnessState
from .claims.lane import LaneClaims
from .finish import Finish, Finished, finish

log = logging.getLogger(__name__)

_NONE_FINISHED = Finished(frozenset())
MIXED_FOR = 0.25
"""Seconds for which the short way is not tried again where the queue was found not to be simple."""
BLOCKED_FOR = 5.0
"""Seconds after which a job is looked at again whose rate gave no token: an operator may have changed the rate."""
_SOON = 0.02
"""Seconds after which to look again at runs whose keys another node was judging."""


@dataclass(frozen=True, slots=True)
class Order:
    """Hold a node's wishes for its turn.

    Attributes:
        ended: Attempts that ended, one of a run at most.
        reserved: Runs handed to this node before, to be started now; no more than ``slots``.
        slots: How many slots are free once these ends are stored.
        prefetch: How many runs to reserve beyond the slots.
        room: How many of the slots are free for runs that take several; None = all.
    """

    ended: Sequence[Finish]
    reserved: Sequence[int]
    slots: int
    prefetch: int
    room: int | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """Hold the results of a turn.

    Attributes:
        finished: Which ends were accepted.
        started: Runs whose attempt has begun, reserved ones first.
        reserved: Runs handed to this node ahead of a free slot.
        fairness: To go on with.
        standing: Unless the node takes runs, nothing was started or reserved.
        next_in: Where slots stay free: seconds until the next run becomes available by time alone; None = none does.
        more: Whether there may be more to take at once.
        blocked: Jobs whose rate gives no token yet, with the seconds until it does.
        held_back: How many runs wait for a slot or a token of their key from now on.
        next_job: Of the run that is next and takes more slots than are free; None = there is none.
    """

    finished: Finished
    started: tuple[Started, ...]
    reserved: tuple[int, ...]
    fairness: FairnessState
    standing: Standing = Standing.TAKES
    next_in: float | None = None
    more: bool = False
    blocked: Mapping[str, float] = field(default_factory=dict[str, float])
    held_back: int = 0
    next_job: str | None = None


class NodeQueue:
    """The queue as one node uses it. Which way a claim takes is chosen here, and for ends in ``finish.store``.

    The short ways are statements of their own: one where all that is due is one lane, two or more where runs of several
    groups need not be judged; see ``lane``. The general way is a transaction, in which ends and claims share a turn.

    Args:
        at_once: How many runs a claim takes at most where the last one brought as many as it wanted.
        on_held_back: Called when runs were held back.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        database: Database,
        at_once: int,
        on_held_back: Callable[[], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._at_once = at_once
        self._on_held_back = on_held_back
        self._clock = clock
        self._mixed_until = self._judged_until = 0.0
        self._goes_on = False
        # By the name of a job: until when its rate gives no token.
        self._blocked: dict[str, float] = {}
        connection = database.autocommit_connection()
        self._lane = None if connection is None else LaneClaims(database, connection)
        statements.read_all(statements.SQLITE if database.is_sqlite else statements.POSTGRES)

    @property
    def shares_turns(self) -> bool:
        """Return whether ends are best stored by the transactions that claim, because there is but one writer."""
        return self._lane is None

    async def take(self, claimant: Claimant, fairness: FairnessState, order: Order) -> Turn:
        """Carry out a node's order for its turn. ``fairness`` is not changed."""
        if not self._blocked:
            result = await self._take(claimant, fairness, order)
        else:
            now = self._clock()
            self._blocked = {name: until for name, until in self._blocked.items() if until > now}
            result = await self._take(claimant.without(self._blocked), fairness, order)
        if result.held_back and self._on_held_back is not None:
            self._on_held_back()
        if not (self._blocked or result.blocked):
            return result
        now = self._clock()
        self._blocked |= {name: now + min(seconds, BLOCKED_FOR) for name, seconds in result.blocked.items()}
        waits = [max(0.0, until - now) for name, until in self._blocked.items() if name in claimant.jobs]
        return replace(result, next_in=min((one for one in (result.next_in, *waits) if one is not None), default=None))

    async def _take(self, claimant: Claimant, fairness: FairnessState, order: Order) -> Turn:
        if self._lane is not None and _is_mere_claim(order) and await self._are_light(claimant):
            light = claimant if not claimant.heavy else claimant.without(claimant.heavy)
            result = await self._take_short(self._lane, light, fairness, order.slots)
            if result is not None:
                return result
        if self._goes_on:
            order = replace(order, slots=min(order.slots, max(self._at_once, len(order.reserved))))
        try:
            result = await self._database.write(turn, claimant, fairness, order)
        except Exception as error:
            # What was to be stored with it, the caller stores by itself.
            if order.ended or kind_of(error).passes:
                raise
            log_fault(log, "a claim failed and is done run by run", error)
            result = await self._database.write(turn, claimant, fairness, order, apart=True)
        # Where ends have transactions of their own, those of other runs are stored meanwhile.
        self._goes_on = result.more and not self.shares_turns
        return result

    async def _take_short(
        self, claims: LaneClaims, claimant: Claimant, fairness: FairnessState, free: int
    ) -> Turn | None:
        """Take runs without a transaction; None = nothing was taken, and ``turn`` has to see to it."""
        if not (claimant.foreign or claimant.groups) and self._clock() >= self._mixed_until:
            slots = min(free, self._at_once) if claims.goes_on(claimant.jobs) else free
            claim = await claims.claim(claimant, fairness, slots)
            if claim.served:
                next_in = claim.next_in if len(claim.started) < slots else None
                return Turn(_NONE_FINISHED, claim.started, (), claim.fairness, next_in=next_in, more=claim.more)
            if claim.mixed:
                self._mixed_until = self._clock() + MIXED_FOR
        if self._clock() < self._judged_until:
            return None
        claim = await claims.of_groups(claimant, fairness, min(free, self._at_once) if self._goes_on else free)
        if claim.mixed:
            self._judged_until = self._clock() + MIXED_FOR
        if not claim.served:
            return None
        self._goes_on = claim.more
        found = (_NONE_FINISHED, claim.started, (), claim.fairness)
        return Turn(*found, next_in=claim.next_in, more=claim.more, held_back=claim.held_back)

    async def _are_light(self, claimant: Claimant) -> bool:
        """Return whether no run is pending that takes several slots: the short way knows of one for each."""
        return not claimant.heavy or not await self._database.read(pending_of, claimant.heavy)

    async def close(self) -> None:
        """Close the connection of the short way."""
        if self._lane is not None:
            await self._lane.close()


def _is_mere_claim(order: Order) -> bool:
    return order.slots > 0 and not order.ended and not order.reserved and order.prefetch == 0


def turn(tx: Tx, claimant: Claimant, fairness: FairnessState, order: Order, *, apart: bool = False) -> Turn:
    """Store ends, start reserved runs, and take more from the queue. ``fairness`` is not changed.

    ``apart``: a run that cannot be begun is put off by itself, and the others begin.
    """
    # Asked first: a node that declares another one dead locks it before its runs, too.
    standing = standing_of(tx, claimant)
    finished = finish(tx, claimant.node_id, claimant.node, order.ended) if order.ended else _NONE_FINISHED
    if standing is not Standing.TAKES:
        return Turn(finished, (), (), fairness, standing)
    begun = start_more(tx, claimant, order.reserved, apart=apart) if order.reserved else ()
    slots = order.slots - len(begun)
    room = None if order.room is None else order.room - len(begun)
    claimed = Claimed((), (), fairness)
    if slots > 0 or order.prefetch > 0:
        claimed = claim_more(tx, claimant, fairness, slots=slots, prefetch=order.prefetch, room=room, apart=apart)
    at = next_available(tx.conn, tx.now) if len(claimed.started) < slots else None
    next_in = _SOON if claimed.busy else None if at is None else (at - tx.now).total_seconds()
    started = begun + claimed.started
    # Where runs were held back there may be more behind them.
    more = (not claimed.left and len(claimed.reserved) == order.prefetch) or claimed.held_back > 0
    blocked = {name: max(0.0, (at - tx.now).total_seconds()) for name, at in claimed.blocked.items()}
    return Turn(
        finished,
        started,
        claimed.reserved,
        claimed.fairness,
        next_in=next_in,
        more=more,
        blocked=blocked,
        held_back=claimed.held_back,
        next_job=claimed.next_job,
    )
