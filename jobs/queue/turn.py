"""A node's turn: one transaction stores the ends of its attempts and fills the slots that they leave.

So a run costs one transaction, not two, and never more than the node's slots are running, by the log as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..store.db.database import Database
from ..store.db.transaction import Tx
from ..store.read import runs as run_store
from .claim import Claimant, Claimed, Standing, Started, claim_more, standing_of, start_more
from .fairness import FairnessState
from .finish import Finish, Finished, finish
from .lane import LaneClaims

_NONE_FINISHED = Finished(frozenset())


@dataclass(frozen=True, slots=True)
class Order:
    """What a node wants of its turn.

    Attributes:
        ended: Attempts that ended, one of a run at most.
        reserved: Runs handed to this node before, to be started now; no more than ``slots``.
        slots: How many slots are free once these ends are stored.
        prefetch: How many runs to reserve beyond the slots.
    """

    ended: Sequence[Finish]
    reserved: Sequence[int]
    slots: int
    prefetch: int


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn brought.

    Attributes:
        finished: Which ends were accepted.
        started: Runs whose attempt has begun, reserved ones first.
        reserved: Runs handed to this node ahead of a free slot.
        fairness: To go on with.
        standing: Unless the node takes runs, nothing was started or reserved.
        next_in: Where slots stay free: seconds until the next run becomes available by time alone; None = none does.
        more: Whether there may be more to take at once.
    """

    finished: Finished
    started: tuple[Started, ...]
    reserved: tuple[int, ...]
    fairness: FairnessState
    standing: Standing = Standing.TAKES
    next_in: float | None = None
    more: bool = False


class NodeQueue:
    """The queue as one node uses it. Which way a claim takes is chosen here, and for ends in ``finish.store``.

    The short way is one statement of its own, where all that is due is one lane; see ``lane``. The general way is a
    transaction, in which ends and claims share a turn.

    Args:
        database: Where the queue is.
        at_once: How many runs a claim takes at most where the last one brought as many as it wanted.
    """

    def __init__(self, database: Database, at_once: int) -> None:
        self._database = database
        self._at_once = at_once
        connection = database.autocommit_connection()
        self._lane = None if connection is None else LaneClaims(database, connection)

    @property
    def shares_turns(self) -> bool:
        """Whether ends are best stored by the transactions that claim, because there is but one writer."""
        return self._lane is None

    async def take(self, claimant: Claimant, fairness: FairnessState, order: Order) -> Turn:
        """Do what a node wants of its turn. ``fairness`` is not changed."""
        if self._lane is not None and _is_mere_claim(order) and not (claimant.foreign or claimant.groups):
            slots = min(order.slots, self._at_once) if self._lane.goes_on(claimant.jobs) else order.slots
            claim = await self._lane.claim(claimant, fairness, slots)
            if claim.served:
                next_in = claim.next_in if len(claim.started) < slots else None
                return Turn(_NONE_FINISHED, claim.started, (), claim.fairness, next_in=next_in, more=claim.more)
        return await self._database.write(turn, claimant, fairness, order)

    async def close(self) -> None:
        """Close the connection of the short way."""
        if self._lane is not None:
            await self._lane.close()


def _is_mere_claim(order: Order) -> bool:
    """Whether nothing but a claim for free slots is wanted."""
    return order.slots > 0 and not order.ended and not order.reserved and order.prefetch == 0


def turn(tx: Tx, claimant: Claimant, fairness: FairnessState, order: Order) -> Turn:
    """Store ends, start what was reserved, and take more runs from the queue. ``fairness`` is not changed."""
    # Asked first: a node that declares another one dead locks it before its runs, too.
    standing = standing_of(tx, claimant)
    finished = finish(tx, claimant.node_id, claimant.node, order.ended) if order.ended else _NONE_FINISHED
    if standing is not Standing.TAKES:
        return Turn(finished, (), (), fairness, standing)
    begun = start_more(tx, claimant, order.reserved) if order.reserved else ()
    slots = order.slots - len(begun)
    claimed = Claimed((), (), fairness)
    if slots > 0 or order.prefetch > 0:
        claimed = claim_more(tx, claimant, fairness, slots=slots, prefetch=order.prefetch)
    next_in = _next_in(tx) if len(claimed.started) < slots else None
    started = begun + claimed.started
    more = len(started) + len(claimed.reserved) == order.slots + order.prefetch
    return Turn(finished, started, claimed.reserved, claimed.fairness, next_in=next_in, more=more)


def _next_in(tx: Tx) -> float | None:
    at = run_store.next_available(tx.conn, tx.now)
    return None if at is None else (at - tx.now).total_seconds()
