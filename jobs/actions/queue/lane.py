"""The common case of a node's turn, one statement each: runs of the only lane begin, attempts that succeeded end.

Whatever is out of the ordinary is left to ``turn`` and ``finish``, which do the same for every case.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...core.fairness import FairnessState
from ...core.held import LanePosition
from ...core.outcome import Succeeded
from ...store.db.autocommit import AutocommitConnection, NotConnectedError
from ...store.db.transaction import Wake
from ...store.write import lane
from ...store.write.lane import Lane, Success
from .claim import Claimant, Started
from .finish import Finish


@dataclass(frozen=True, slots=True)
class LaneClaim:
    """What the claim of a lane brought.

    Attributes:
        served: Whether the queue was as simple as that; if not, nothing was taken, and ``turn`` has to see to it.
        started: In fair order.
        fairness: To go on with.
        more: Whether more may be there.
        next_in: Where slots stay free: seconds until the next run becomes available by time alone; None = none does.
        place: Behind which the next claim for the same jobs may begin; None: at the beginning of the lane.
    """

    served: bool
    started: tuple[Started, ...]
    fairness: FairnessState
    more: bool
    next_in: float | None
    place: LanePosition | None


async def claim_lane(
    connection: AutocommitConnection,
    claimant: Claimant,
    fairness: FairnessState,
    *,
    slots: int,
    behind: LanePosition | None = None,
) -> tuple[LaneClaim, Wake]:
    """Begin up to ``slots`` runs where all that is due is of one group and one class. ``fairness`` is not changed.

    ``behind``: where the last claim for the same jobs ended; see ``take_lane`` for what such a claim does not see.
    """
    try:
        taken = await lane.take_lane(connection, (claimant.node_id, claimant.node), claimant.jobs, slots, behind)
    except NotConnectedError:
        # The connections of ``turn`` may be open although the server, or this process, is short of new ones.
        return LaneClaim(False, (), fairness, False, None, None), Wake.NONE
    started = tuple(Started(run, execution_id, checkpoint) for execution_id, checkpoint, run in taken.begun)
    after = fairness.after(started[0].run.group, len(started)) if started else fairness
    claim = LaneClaim(taken.lane is Lane.TAKEN, started, after, taken.full, taken.next_in, taken.place)
    return claim, Wake.EVENTS if started else Wake.NONE


def is_common(ended: Finish) -> bool:
    """Whether an attempt ended as most do: it succeeded, and nothing but a number is to be kept of it."""
    outcome = ended.outcome
    return (
        type(outcome) is Succeeded
        and outcome.value is None
        and ended.log_lines == 0
        and not ended.cancelled
        and ended.progress is None
        and not ended.at_end
    )


async def finish_common(
    connection: AutocommitConnection, node: tuple[int, str], ended: Sequence[Finish]
) -> tuple[frozenset[int], Wake]:
    """Write common ends, one of a run at most; the runs whose end is stored now.

    The others were asked to stop, taken from this node, or ended by an earlier try whose answer was lost, or there is
    no connection for them: ``finish`` sees to them.
    """
    successes = [
        Success(one.run.id, one.run.attempt, one.execution_id, one.outcome.records_processed)
        for one in ended
        if isinstance(one.outcome, Succeeded)
    ]
    try:
        stored = await lane.end_successes(connection, node, successes)
    except NotConnectedError:
        return frozenset(), Wake.NONE
    return stored, Wake.EVENTS | Wake.RUNS if stored else Wake.NONE
