"""The usual claims, on PostgreSQL and without a transaction: of the only lane there is, or of several groups.

A lane is taken by one statement. Of several groups one statement looks for runs, and another one begins those that
come first. Everything out of the ordinary is left to ``claim``, which does the same for every case.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, ParamSpec

from ...core.base.lazy import LazyModule
from ...core.limits import NEVER
from ...store.db.autocommit import AutocommitConnection, NotConnectedError
from ...store.db.database import Database
from ...store.db.faults import ErrorKind, kind_of
from ...store.db.transaction import Wake
from ..base import statements
from ..base.shapes import HeldRun, LanePosition
from .candidates import Want, found_in
from .claim import MAX_DEPTH, Claimant, part_of
from .fairness import FairnessState, choose, take
from .starts import Source, Started, parameters_of, started_in

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = LazyModule("psycopg")


P = ParamSpec("P")
MOST_PLACES: Final = 100
"""Sets of jobs whose places are known at most: rates that are used up make ever others of them."""
WHOLE_LOOK: Final = 1.0
"""Seconds after which a lane is looked at from its beginning again, however much of it waits."""


@dataclass(frozen=True, slots=True)
class LaneClaim:
    """Hold the result of the claim of a lane.

    Attributes:
        served: Whether the queue was as simple as that; if not, nothing was taken, and ``turn`` has to see to it.
        started: In fair order.
        fairness: To go on with.
        more: Whether more may be there.
        next_in: Where slots stay free: seconds until the next run becomes available by time alone; None = none does.
        place: Behind which the next claim for the same jobs may begin; None: at the beginning of the lane.
        mixed: Whether the queue is not as simple as that, for all that is known here.
        held_back: How many runs wait for a slot of their key from now on.
    """

    served: bool
    started: tuple[Started, ...]
    fairness: FairnessState
    more: bool
    next_in: float | None
    place: LanePosition | None
    mixed: bool = False
    held_back: int = 0


NOT_SERVED: Final = LaneClaim(False, (), FairnessState(), False, None, None), Wake.NONE
"""The result of a claim that took nothing, because ``turn`` has to see to it."""
_MIXED: Final = replace(NOT_SERVED[0], mixed=True), Wake.NONE


def _if_possible(
    claim: Callable[P, Awaitable[tuple[LaneClaim, Wake]]],
) -> Callable[P, Awaitable[tuple[LaneClaim, Wake]]]:
    @wraps(claim)
    async def tried(*args: P.args, **kwargs: P.kwargs) -> tuple[LaneClaim, Wake]:
        try:
            return await claim(*args, **kwargs)
        except NotConnectedError:
            # The connections of ``turn`` may be open although the server, or this process, is short of new ones.
            return NOT_SERVED
        except psycopg.Error as error:
            if kind_of(error) is not ErrorKind.CONFLICT:
                raise
            # Another node has begun a run of the same exclusive task at this moment, or has locked what this one
            # needs; ``turn`` tries again.
            return NOT_SERVED

    return tried


_BEHIND_NOTHING: Final[Mapping[str, None]] = dict.fromkeys(LanePosition._fields)
# All of a ``HeldRun`` but what is the same for all that a statement begins.
_HELD: Final = tuple("group_name" if name == "group" else name for name in HeldRun._fields[:-5])


@_if_possible
async def claim_lane(
    connection: AutocommitConnection,
    claimant: Claimant,
    fairness: FairnessState,
    *,
    slots: int,
    behind: LanePosition | None = None,
) -> tuple[LaneClaim, Wake]:
    """Begin up to ``slots`` runs where all that is due is of one group and one class. ``fairness`` is not changed.

    Taken runs leave dead entries at the beginning of the lane in its index until the next VACUUM. A look
    ``behind`` a place does not walk through them, and does not find runs from before that place meanwhile. Whether
    there is more than this lane it sees as any other look does, but for runs of jobs that the node does not know.

    Args:
        connection: A connection of the caller's.
        fairness: Its memory of earlier claims.
        slots: How many.
        behind: The result of the last claim for the same jobs.
    """
    parameters: dict[str, Any] = {
        "node_id": claimant.node_id,
        "node": claimant.node,
        "jobs": list(claimant.jobs),
        "slots": slots,
        **(_BEHIND_NOTHING if behind is None else behind._asdict()),
    }
    rows = await connection.execute(statements.for_driver("claim_lane"), parameters)
    if not rows:
        # What has begun cannot be read, and was left out.
        return NOT_SERVED
    first = rows[0]
    if first.found != "taken":
        return _MIXED if first.found == "mixed" else NOT_SERVED
    if not first.runs:
        # At the end of what is behind the place there may be something before it.
        return LaneClaim(True, (), fairness, behind is not None, first.next_in, None), Wake.NONE
    started = _started(rows, claimant)
    after = fairness.after(started[0].run.group, len(started))
    last = None
    if first.runs == slots:
        last = LanePosition(first.lane_group, first.lane_high, first.last_available_at, started[-1].run.id)
    return LaneClaim(True, started, after, first.is_full or behind is not None, first.next_in, last), Wake.EVENTS


def _started(rows: Sequence[Any], claimant: Claimant) -> tuple[Started, ...]:
    pick = statements.picker(rows[0]._fields, _HELD)
    # What has a key is judged, and never begins here.
    same = (None, None, rows[0].started_at, claimant.node_id, claimant.node)
    return tuple(Started(HeldRun._make((*pick(row), *same)), row.execution_id, row.checkpoint) for row in rows)


@_if_possible
async def claim_groups(
    connection: AutocommitConnection, claimant: Claimant, fairness: FairnessState, *, slots: int, deep: bool = False
) -> tuple[LaneClaim, Wake]:
    """Begin up to ``slots`` runs of any groups and classes, in fair order; ``fairness`` is not changed.

    Runs that find no slot of their concurrency key are held back, and those behind them; ``deep``: many of these are
    looked for. Nothing is taken if one that comes first needs a token, has a limited group, or may have to be dropped.
    """
    jobs, count, node = list(claimant.jobs), min(slots, MAX_DEPTH), (claimant.node_id, claimant.node)
    ((by_job,),) = await connection.execute(statements.for_driver("pending_of_other_jobs"), {"jobs": jobs})
    if by_job:
        rows = await connection.execute(statements.for_driver("pending_of_own_jobs"), {"jobs": jobs})
        jobs = [row.name for row in rows]
    part = MAX_DEPTH if deep else part_of(count, fairness)
    lane = part if deep or part < count else None
    want = Want(None, jobs, count, claimant.foreign, claimant.groups, "by_job" if by_job else None, lane)
    asked = want.parameters(fairness.last_group)
    found = found_in(await connection.execute(statements.for_driver("candidates", want.form), asked), want)
    seen = fairness.copy()
    seen.groups = max(1, len({one.group for one in found}))
    state = seen.copy()
    chosen, goes_on, _ = choose(state, found, count, depth=lane)
    if any(one.judged or one.rated or one.limited for one in chosen):
        return _MIXED
    is_last = len(chosen) < count and not goes_on
    # Asked before runs begin: nothing may fail between these and the caller.
    next_in = await _next_in(connection) if is_last else None
    if not chosen:
        return (LaneClaim(True, (), state, False, next_in, None), Wake.NONE) if is_last else NOT_SERVED
    ids = [one.run_id for one in chosen]
    held_back = 0
    if any(one.keyed for one in chosen):
        behind = [one.run_id for one in found if one.keyed] if deep else []
        ids += [run_id for run_id in behind if run_id not in set(ids)]
        _, rows = await connection.together(
            (statements.for_driver("try_lock_keys"), {"ids": statements.array(ids), "node_id": node[0]}),
            (
                statements.for_driver("start_keyed"),
                {"wanted": len(chosen), "node_id": node[0], "node": node[1], "never": NEVER},
            ),
        )
        held_back = rows[0].held_back if rows else 0
        rows = [row for row in rows if row.id is not None]
    else:
        begins = parameters_of(ids, node, Source.QUEUE, None, with_event=True) | {"ids": statements.array(ids)}
        rows = await connection.execute(statements.for_driver("start"), begins)
    started = started_in(rows, node)
    if not started and not held_back:
        return NOT_SERVED
    missed = len(started) < len(chosen)
    if missed:
        # Chosen again among what could be had, so that what others were faster to take costs no group its turn.
        state = seen.copy()
        chosen = take(state, [one for one in found if one.run_id in started], count)
    begun = tuple(started[one.run_id] for one in chosen)
    wakes = Wake.EVENTS if begun else Wake.NONE
    return LaneClaim(True, begun, state, missed or not is_last, next_in, None, held_back=held_back), wakes


async def _next_in(connection: AutocommitConnection) -> float | None:
    """Return in how many seconds the next run becomes available by time alone; None = none does."""
    rows = await connection.execute(statements.for_driver("next_available"), {"now": None})
    return next(((row.available_at - row.now).total_seconds() for row in rows if row.available_at is not None), None)


class LaneClaims:
    """Takes runs where all that is due is one lane, and knows how far it has taken it.

    A look from the beginning of a lane walks through all runs taken since the last VACUUM. A run that comes before
    the place meanwhile (a run that was due earlier and is stored later, one of an exclusive task that was passed over)
    is taken when the lane ends, or ``WHOLE_LOOK`` seconds later.

    Args:
        database: The database of the connection.
        connection: Used by these claims alone.
        clock: Seconds that only grow.
    """

    def __init__(
        self, database: Database, connection: AutocommitConnection, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._connection = connection
        self._clock = clock
        # By the jobs that are claimed: when their lane was looked at as a whole, and how far it was taken since.
        self._places: dict[tuple[str, ...], tuple[float, LanePosition | None]] = {}
        # Behind runs that were held back there may be many of the same keys.
        self._deep = False

    def goes_on(self, jobs: tuple[str, ...]) -> bool:
        """Return whether the last claim for these jobs brought as many as it wanted, so that more may wait."""
        return self._places.get(jobs, (0.0, None))[1] is not None

    async def claim(self, claimant: Claimant, fairness: FairnessState, slots: int) -> LaneClaim:
        """See ``claim_lane``; one at a time."""
        now = self._clock()
        looked_at, behind = self._places.get(claimant.jobs, (0.0, None))
        if now - looked_at >= WHOLE_LOOK:
            behind = None
        if behind is None:
            looked_at = now
        claim = await self._database.on_connection(
            claim_lane, self._connection, claimant, fairness, slots=slots, behind=behind
        )
        if claimant.jobs not in self._places and len(self._places) >= MOST_PLACES:
            self._places.clear()
        self._places[claimant.jobs] = looked_at, claim.place
        return claim

    async def of_groups(self, claimant: Claimant, fairness: FairnessState, slots: int) -> LaneClaim:
        """See ``claim_groups``; one at a time."""
        claim = await self._database.on_connection(
            claim_groups, self._connection, claimant, fairness, slots=slots, deep=self._deep
        )
        self._deep = claim.held_back > 0
        return claim

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()
