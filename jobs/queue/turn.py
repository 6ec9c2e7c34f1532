"""A node's turn: one transaction stores the ends of its attempts and fills the slots that they leave.

So a run costs one transaction, not two, and never more than the node's slots are running, by the log as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..store.db.transaction import Tx
from ..store.read import runs as run_store
from .claim import Claimant, Claimed, Standing, Started, claim_more, standing_of, start_more
from .fairness import FairnessState
from .finish import Finish, Finished, finish

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
    """

    finished: Finished
    started: tuple[Started, ...]
    reserved: tuple[int, ...]
    fairness: FairnessState
    standing: Standing = Standing.TAKES
    next_in: float | None = None


def turn(tx: Tx, claimant: Claimant, fairness: FairnessState, order: Order) -> Turn:
    """Store ends, start what was reserved, and take more runs from the queue. ``fairness`` is not changed."""
    # Asked first: whoever declares a node dead locks it before its runs, too.
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
    return Turn(finished, begun + claimed.started, claimed.reserved, claimed.fairness, next_in=next_in)


def _next_in(tx: Tx) -> float | None:
    at = run_store.next_available(tx.conn, tx.now)
    return None if at is None else (at - tx.now).total_seconds()
