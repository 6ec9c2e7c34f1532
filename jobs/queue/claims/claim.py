"""A node takes runs from the queue and starts them, in fair order, one transaction for many."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial
from typing import Any, Final, TypeVar

from ...core.admission.holding import has_expired
from ...core.base.times import time_text
from ...core.events import Change, EventKind
from ...core.model import Run, SkipReason, Task, Trigger
from ...core.nodes import TAKING_NODES
from ...core.occurrences import Skip, earliest_start, effective_tolerance, interval_of
from ...core.states import RunState
from ...store.db.transaction import Tx
from ...store.statements import tasks as stored_tasks
from ..base import runs as run_store
from ..base.apart import in_halves, reason_of
from ..base.changes import run_change
from ..base.shapes import Candidate, Reserved
from ..base.skips import record_drop
from ..limits.admission import Admission
from . import starts as claims
from .candidates import Want, candidates, jobs_among_others, skip_expired, weighed
from .fairness import FairnessState, choose, take
from .starts import Source, Started

__all__ = ["Claimant", "Claimed", "Slots", "Standing", "Started", "claim", "claim_more", "standing_of", "start_more"]

MAX_DEPTH = 500
"""Number of runs that one round looks for; larger claims take several rounds in the same transaction."""
PUT_OFF = timedelta(minutes=1)
"""Time for which a run that cannot be begun is left alone."""
_ROUNDS = 20
DEEPER: Final = 4
"""Factor by which a lane is searched deeper if its part was not enough."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Claimant:
    """The node that takes runs, and the jobs it can run.

    ``foreign``: signatures of other versions of its jobs that other nodes have; runs with these are left to them.
    ``groups``: where it takes runs; empty = everywhere. ``heavy``: the jobs whose runs take several of its slots, and
    how many; usually there are none.
    """

    node_id: int
    node: str
    jobs: tuple[str, ...]
    foreign: frozenset[str] = frozenset()
    groups: tuple[str, ...] = ()
    heavy: Mapping[str, int] = field(default_factory=dict[str, int])

    def without(self, jobs: Container[str]) -> "Claimant":
        """Return the node as one that does not take runs of these jobs."""
        return replace(self, jobs=tuple(name for name in self.jobs if name not in jobs))


class Standing(Enum):
    """Say whether a node may take runs: it may; it drains and takes nothing new; it was declared dead meanwhile."""

    TAKES = auto()
    DRAINS = auto()
    DEAD = auto()


@dataclass(slots=True)
class Slots:
    """Count the slots that a claim may fill: ``room`` of them are free now, the others are so soon.

    ``next_job``: of the run that is next and found no room; None = there is none.
    """

    count: int
    room: int
    next_job: str | None = None

    def fill(self, taken: Iterable[Candidate]) -> None:
        """Take the slots of these runs."""
        used = sum(one.slots for one in taken)
        self.count -= used
        self.room -= used


@dataclass(frozen=True, slots=True)
class Claimed:
    """Hold the result of a claim: started runs, runs reserved ahead, and the next state of fairness.

    ``fenced``: the node was declared dead meanwhile and may take nothing. ``blocked``: jobs whose rate gives no token
    before the time that is returned. ``held_back``: how many runs wait for a slot or token of their key from now on.
    ``busy``: some were left alone, because another node judges their keys at this moment. ``next_job``: of the
    run that is next and takes more slots than are free; it comes first once they are. ``left``: how many slots found no
    run.
    """

    started: tuple[Started, ...]
    reserved: tuple[int, ...]
    fairness: FairnessState
    fenced: bool = False
    blocked: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    held_back: int = 0
    busy: bool = False
    next_job: str | None = None
    left: int = 0


def claim(tx: Tx, claimant: Claimant, fairness: FairnessState, *, slots: int, prefetch: int = 0) -> Claimed:
    """Take up to ``slots`` runs to start at once and ``prefetch`` more to start later.

    Runs that start have their attempt counted and their execution opened in this transaction, so that a job which
    kills its node counts too. ``fairness`` is not changed; take the returned one once the transaction is committed.
    """
    standing = standing_of(tx, claimant)
    if standing is not Standing.TAKES:
        return Claimed((), (), fairness, fenced=standing is Standing.DEAD)
    return claim_more(tx, claimant, fairness, slots=slots, prefetch=prefetch)


def standing_of(tx: Tx, claimant: Claimant) -> Standing:
    """Return whether the node may take runs; nobody declares it dead before the commit."""
    state, now = claims.live_node(tx.conn, claimant.node_id)
    tx.learn_now(now)
    if state is None:
        return Standing.DEAD
    return Standing.TAKES if state in TAKING_NODES else Standing.DRAINS


def claim_more(
    tx: Tx,
    claimant: Claimant,
    fairness: FairnessState,
    *,
    slots: int,
    prefetch: int,
    room: int | None = None,
    apart: bool = False,
) -> Claimed:
    """Claim for a node of which this transaction knows already that it may take runs.

    ``room``: how many of the slots are free now, for runs that take several; None = all. ``apart``: see ``turn``.
    """
    state = fairness.copy()
    admission = Admission(tx)
    start = _start_apart if apart else _start
    wanted = Slots(slots, slots if room is None else room)
    rounds = _rounds(tx, claimant, state, wanted, partial(start, tx, claimant, admission), admission)
    started = tuple(one for some in rounds for one in some)
    reserved: list[Reserved] = []
    if wanted.count <= 0:
        # Nothing is handed out ahead past a run that takes several: its slots could never become free.
        ahead = Slots(prefetch, 0)
        handed = _rounds(tx, claimant, state, ahead, partial(_reserve, tx, claimant), Admission(tx, reserves=True))
        reserved = [one for some in handed for one in some]
    tx.emit(run_change(one, RunState.SCHEDULED, node=claimant.node) for one in reserved)
    ids = tuple(one.id for one in reserved)
    return Claimed(
        started,
        ids,
        state,
        blocked=admission.blocked,
        held_back=admission.held_back,
        busy=admission.busy,
        next_job=wanted.next_job,
        left=max(0, wanted.count),
    )


def start_more(tx: Tx, claimant: Claimant, ids: Sequence[int], *, apart: bool = False) -> tuple[Started, ...]:
    """Start runs reserved by a node of which this transaction knows already that it may take runs (``standing_of``).

    Those cancelled or taken away meanwhile are left out. ``apart``: see ``turn``.
    """
    if not apart:
        return _start_reserved(tx, claimant, ids)
    begun: list[Started] = []
    lost = in_halves(tx, ids, lambda some: begun.extend(_start_reserved(tx, claimant, some)))
    _put_off(tx, lost)
    return tuple(begun)


def _start_reserved(tx: Tx, claimant: Claimant, ids: Sequence[int]) -> tuple[Started, ...]:
    begun = _begin(tx, claimant, ids, Source.UNJUDGED)
    judged = [run_id for run_id in ids if run_id not in begun]
    if judged:
        locked = claims.lock_scheduled(tx.conn, judged, claimant.node_id)
        kept = _without_dropped(tx, claimant, [locked[run_id] for run_id in judged if run_id in locked])
        begun |= _begin(tx, claimant, [run.id for run in kept], Source.RESERVE)
        _give_back(tx, [run for run in kept if run.id not in begun])
    return tuple(begun[run_id] for run_id in ids if run_id in begun)


def _give_back(tx: Tx, reserved: Sequence[Run]) -> None:
    """Return reserved runs whose group was paused meanwhile to the queue."""
    run_store.hand_back(tx.conn, [run.id for run in reserved])
    tx.emit(run_change(run, RunState.WAITING) for run in reserved)


def _rounds(
    tx: Tx,
    claimant: Claimant,
    state: FairnessState,
    wanted: Slots,
    enact: Callable[[list[Candidate], list[Candidate]], Mapping[int, T]],
    admission: Admission,
) -> Iterator[list[T]]:
    """Yield rounds of takes until ``wanted`` is reached or nothing is left.

    Args:
        state: Advanced by the runs taken.
        wanted: For how many slots; counted down.
        enact: Takes all it can get of the runs that are its first argument; the second are all that were found.
    """
    if wanted.count <= 0:
        return
    elsewhere: set[int] = set()
    own = jobs_among_others(tx.conn, claimant.jobs)
    jobs, form = (claimant.jobs, None) if own is None else (own, "by_job")
    lane = part_of(min(wanted.count, MAX_DEPTH), state)
    for turn in range(_ROUNDS):
        count = min(wanted.count, MAX_DEPTH)
        if count <= 0:
            return
        depth = count + len(elsewhere)
        part = lane if lane < count and not elsewhere else None
        # Behind those that were held back there may be many of the same keys.
        part = MAX_DEPTH if admission.held_back else part
        jobs = admission.unblocked(jobs)
        want = Want(tx.now, jobs, depth, claimant.foreign, claimant.groups, form, part)
        found = admission.reservable(_not_taken(candidates(tx.conn, want, state.last_group), elsewhere))
        if turn == 0:
            state.groups = max(1, len({one.group for one in found}))
        if not found:
            return
        capacities = admission.capacities(sorted({one.group for one in found if one.limited}))
        found = admission.aged(found)
        room = None
        if claimant.heavy:
            found, room = weighed(tx.conn, found, claimant.heavy), wanted.room
        trial, goes_on, next_one = choose(state.copy(), found, count, capacities=capacities, depth=part, room=room)
        taken: Mapping[int, T] = enact(trial, found) if trial else {}
        # Chosen again among what could be had, so that what others were faster to take costs no group its turn.
        had = [one for one in found if one.run_id in taken]
        chosen = take(state, had, count, capacities=capacities, room=room)
        yield [taken[one.run_id] for one in chosen]
        wanted.fill(chosen)
        missed = {one.run_id for one in trial} - taken.keys()
        elsewhere |= missed
        lane *= DEEPER
        if not missed and next_one is not None:
            wanted.next_job = next_one.heavy
            return
        if not missed and not goes_on and len(taken) < count:
            return


def part_of(count: int, state: FairnessState) -> int:
    """Return how many runs of each lane are looked at first: the part of a group, and one more in case one has gone."""
    lane = -(-count // state.groups)
    # Where each of many groups gives one, a second one would double what is read.
    return lane + (lane > 1)


def _not_taken(found: list[Candidate], elsewhere: set[int]) -> list[Candidate]:
    """Return ``found`` without runs that other nodes are taking now, and without others of such an exclusive task."""
    if not elsewhere:
        return found
    blocked = {one.blocks for one in found if one.run_id in elsewhere and one.blocks is not None}
    return [one for one in found if one.run_id not in elsewhere and one.blocks not in blocked]


def _reserve(tx: Tx, claimant: Claimant, chosen: list[Candidate], found: list[Candidate]) -> dict[int, Reserved]:
    del found
    return claims.reserve(tx.conn, [one.run_id for one in chosen], claimant.node_id)


def _start(
    tx: Tx, claimant: Claimant, admission: Admission, chosen: list[Candidate], found: list[Candidate]
) -> dict[int, Started]:
    judged = [one.run_id for one in chosen if one.judged]
    refused: set[int] = set()
    if judged:
        locked = claims.lock_claimable(tx.conn, judged)
        kept = _without_dropped(tx, claimant, [locked[run_id] for run_id in judged if run_id in locked])
        refused = set(judged) - {run.id for run in kept}
    keyed = [one.run_id for one in chosen if one.keyed and one.run_id not in refused]
    if keyed:
        others = {one.run_id for one in chosen}
        behind = [one.run_id for one in found if one.keyed and one.run_id not in others] if admission.held_back else []
        refused |= set(keyed) - admission.admit(keyed, behind)
    ids = [one.run_id for one in chosen if one.run_id not in refused]
    begun = _begin(tx, claimant, ids, Source.QUEUE, admission.at)
    admission.started([one.run for one in begun.values()])
    return begun


def _start_apart(
    tx: Tx, claimant: Claimant, admission: Admission, chosen: list[Candidate], found: list[Candidate]
) -> dict[int, Started]:
    """Start halves of the chosen runs where ``_start`` fails, until the guilty ones stand alone; these are put off."""
    begun: dict[int, Started] = {}
    lost = in_halves(tx, chosen, lambda some: begun.update(_start(tx, claimant, admission, list(some), found)))
    _put_off(tx, [(one.run_id, error) for one, error in lost])
    return begun


def _put_off(tx: Tx, lost: Sequence[tuple[int, Exception]]) -> None:
    """Have runs that cannot be begun tried again later; each says why, and keeps its attempts."""
    for run_id, error in lost:
        reason = reason_of(f"run {run_id} cannot be begun", error)
        run_store.put_off(tx.conn, run_id, tx.now + PUT_OFF, f"it could not be begun: {reason}")
        tx.emit([Change(EventKind.RUN_UPDATED, run_id=run_id, state=RunState.WAITING.value)])


def _begin(
    tx: Tx, claimant: Claimant, ids: Sequence[int], source: Source, at: datetime | None = None
) -> dict[int, Started]:
    return claims.start(tx, ids, (claimant.node_id, claimant.node), source, at) if ids else {}


def _without_dropped(tx: Tx, claimant: Claimant, runs: Sequence[Run]) -> list[Run]:
    """Return ``runs`` without those that are too old, or too early after the task's last start; these are dropped."""
    # Only the first start of a run made by the schedule is judged by the tolerance.
    judged = {
        run.task_id for run in runs if run.attempt == 0 and run.trigger is Trigger.SCHEDULE and run.task_id is not None
    }
    owners = stored_tasks.by_ids(tx.conn, sorted(judged)) if judged else {}
    kept: list[Run] = []
    late = [run for run in runs if has_expired(run.expires_at, run.attempt, tx.now)]
    if late:
        # Flows are locked before their runs, so those of flows are left to the duty that skips them.
        skip_expired(tx, [run for run in late if run.flow_id is None], node=claimant.node)
        runs = [run for run in runs if not has_expired(run.expires_at, run.attempt, tx.now)]
    for run in runs:
        task = owners.get(run.task_id or 0) if run.attempt == 0 and run.trigger is Trigger.SCHEDULE else None
        earliest = earliest_start(task.spec, task.last_started_at) if task is not None else None
        if task is not None and earliest is not None and tx.now < earliest:
            _drop(tx, claimant, run, task, earliest)
            continue
        if task is not None:
            owners[task.id] = replace(task, last_started_at=tx.now)
        kept.append(run)
    return kept


def _drop(tx: Tx, claimant: Claimant, run: Run, task: Task, earliest: datetime) -> None:
    nominal = run.scheduled_for or run.submitted_at
    policy: dict[str, Any] = {
        "interval": interval_of(task.spec.schedule),
        "tolerance": effective_tolerance(task.spec),
        "lastStartedAt": None if task.last_started_at is None else time_text(task.last_started_at),
    }
    sentence = (
        f"about to start at {time_text(tx.now)}, but the task's last start allows the next no earlier than "
        f"{time_text(earliest)} (last start + interval - tolerance)"
    )
    run_store.skip(tx.conn, [run.id], sentence, tx.now, SkipReason.TOLERANCE)
    record_drop(tx, task, Skip(SkipReason.TOLERANCE, nominal, nominal, 1, policy), node=claimant.node, run_id=run.id)
    tx.emit([run_change(run, RunState.SKIPPED, node=claimant.node)])
