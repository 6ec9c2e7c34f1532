"""Find the oldest claimable runs of every lane for a node, group by group in round-robin order."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection, select

from ...core.admission.holding import Expired, expired_sentence
from ...core.arguments.secrets import references, resolved
from ...core.base.resources import handed_on
from ...core.base.times import time_text
from ...core.defaults import FOLLOWED
from ...core.limits import NEVER
from ...core.model import NewRun, Priority, Run, SkipReason, Trigger
from ...core.nodes import in_turn
from ...core.occurrences import Skip
from ...core.states import RunState
from ...store.db.transaction import Tx, Wake
from ...store.schema.tables import run as r
from ...store.statements import jobs
from ...store.statements import runs as stored_runs
from ...store.statements import tasks as stored_tasks
from ..base import runs as run_store
from ..base import statements
from ..base.apart import ON_EXPIRED, in_halves, reason_of
from ..base.changes import run_change
from ..base.shapes import Candidate
from ..base.skips import record_drop
from ..enqueue.enqueue import FollowUp, put_following
from ..flows.flow_ends import end_alone, ended_of, hold_of, settle
from ..limits.admission import free_places


@dataclass(frozen=True, slots=True)
class Want:
    """Hold a node's request: the time, the jobs it can run, the depth of the search, and the runs to leave.

    ``now``: None on PostgreSQL: the time of the statement.
    ``depth``: how many groups are looked into; ``lane``: how many runs of each of their lanes, if not as many.
    ``foreign``: runs with these signatures are left to other nodes; while all nodes are of one version there are none,
    and on SQLite, where there is one node, never. ``groups``: the only ones to look into; empty = all. ``form``:
    "by_job": each of ``jobs`` is looked for by itself, because runs of others are pending, too (``jobs_among_others``).
    """

    now: datetime | None
    jobs: Sequence[str]
    depth: int
    foreign: frozenset[str] = frozenset()
    groups: tuple[str, ...] = ()
    form: str | None = None
    lane: int | None = None

    def parameters(self, after: str | None) -> dict[str, Any]:
        """Return the parameters of the statement ``candidates``; ``after``: see there."""
        return {
            "now": self.now,
            "jobs": list(self.jobs),
            "foreign": sorted(self.foreign),
            "groups": list(in_turn(self.groups, after or "")) if self.groups else None,
            "after": after or "",
            "depth": self.depth,
            "lane": self.lane or self.depth,
        }


# Usually a lane is read in the order in which its runs are taken, and those of jobs that the node cannot run are passed
# over. That is cheap as long as there are none. Where there are, each of the node's own jobs is looked for by itself.
def jobs_among_others(conn: Connection, jobs: Sequence[str]) -> tuple[str, ...] | None:
    """Return those of ``jobs`` with pending runs if other jobs have pending runs, too; None if they have none.

    Its cost grows with ``jobs`` and not with the runs.
    """
    if not statements.execute(conn, "pending_of_other_jobs", {"jobs": list(jobs)}).one().are_there:
        return None
    return pending_of(conn, jobs)


def pending_of(conn: Connection, jobs: Collection[str]) -> tuple[str, ...]:
    """Return those of these jobs that have pending runs, due or not."""
    return tuple(row.name for row in statements.execute(conn, "pending_of_own_jobs", {"jobs": list(jobs)}))


def next_available(conn: Connection, now: datetime) -> datetime | None:
    """Return when a run next becomes available by time alone, or a group gets the token that it waits for; or None."""
    at: datetime | None = statements.execute(conn, "next_available", {"now": now}).one().available_at
    return at if at is not None and at < NEVER else None


def weighed(conn: Connection, found: list[Candidate], heavy: Mapping[str, int]) -> list[Candidate]:
    """Return these candidates with the slots that each takes.

    Args:
        heavy: The jobs whose runs take several slots, and how many.
    """
    jobs = select(r.c.id, r.c.job_name).where(r.c.id.in_([one.run_id for one in found]), r.c.job_name.in_(heavy))
    names = {row.id: row.job_name for row in conn.execute(jobs)}
    return [
        one._replace(slots=heavy[names[one.run_id]], heavy=names[one.run_id]) if one.run_id in names else one
        for one in found
    ]


def candidates(conn: Connection, want: Want, after: str | None) -> list[Candidate]:
    """Return the runs that could be taken now: groups after ``after`` first, then wrapping to the start.

    Enough groups are read that ``fairness.choose`` of ``want.depth`` runs sees all that matter to it.
    """
    rows = statements.execute(conn, "candidates", want.parameters(after), want.form)
    found = found_in(rows, want)
    rows.close()
    return found


def found_in(rows: Iterable[Any], want: Want) -> list[Candidate]:
    """Return the candidates in rows of the statement ``candidates``."""
    found: list[Candidate] = []
    groups = 0
    # SQLite looks into a group when it is asked for the next row, and not into more than are wanted.
    for row in rows:
        known = len(found)
        found += _in_order(row.group_name, bool(row.limited), row.runs, want.lane or want.depth)
        groups += len(found) > known
        if groups == want.depth:
            break
    return found


def _in_order(group: str, limited: bool, runs: str, limit: int) -> Iterator[Candidate]:
    """Yield the candidates of a group, the first ``limit`` of each class in their order."""
    by_class: dict[int, list[Sequence[Any]]] = {}
    for class_, lane in _read(runs)[0]:
        by_class.setdefault(class_, []).append(lane)
    for class_, lanes in sorted(by_class.items()):
        # What is behind so many of one lane may come before what is left of another one.
        merged = lanes[0] if len(lanes) == 1 else sorted(chain(*lanes), key=_FIRST_IN)[:limit]
        stuck, priority = _CLASSES[class_]
        for one in merged:
            if isinstance(one, int):
                yield Candidate(one, group, priority, stuck, limited=limited)
                continue
            run_id, blocks, judged, keyed, _ = one
            seen = (bool(judged), limited, bool(keyed))
            yield Candidate(run_id, group, priority, stuck, blocks, *seen, rated=keyed == 2)


_read: Final = json.JSONDecoder().raw_decode
_FIRST_IN: Final = itemgetter(4, 0)
_CLASSES: Final = ((True, Priority.LOW), (False, Priority.HIGH), (False, Priority.LOW))
"""By their number in the statement. Stuck runs of both priorities are one class."""


BATCH: Final = 500
"""Runs that one transaction skips."""
EXPIRY_OF: Final = "expiryOf"
"""Carried by the run of a job that is notified: the run that expired. The expiry of such a run notifies no job."""


def skip_due(tx: Tx, node: str | None) -> int:
    """Skip some runs that are too old to start; return how many."""
    hold_of(tx.conn, *run_store.has_expired(tx.now))
    late = run_store.expired(tx.conn, tx.now, BATCH)

    def skip(ids: Sequence[int]) -> None:
        skip_expired(tx, list(stored_runs.by_ids(tx.conn, ids).values()), node=node)

    lost = in_halves(tx, late, skip)
    for run_id, error in lost:
        reason = reason_of(f"run {run_id}, which is too old to start, was skipped without its follow-ups", error)
        end_alone(tx, run_id, RunState.SKIPPED, f"too old to start; {reason}")
    return len(late)


def skip_expired(tx: Tx, runs: Sequence[Run], *, node: str | None) -> None:
    """Skip locked runs that are too old to start, and notify their jobs.

    Args:
        tx: The transaction that has locked them, and their flows before them.
        runs: They have never begun.
        node: The node that found them.
    """
    owners = stored_tasks.by_ids(tx.conn, sorted({run.task_id for run in runs if run.task_id is not None}))
    for run in runs:
        assert run.expires_at is not None, "it may expire"
        sentence = expired_sentence(run.expires_at, run.available_at, tx.now)
        run_store.skip(tx.conn, [run.id], sentence, tx.now, SkipReason.EXPIRED)
        task = owners.get(run.task_id or 0)
        if task is not None and run.scheduled_for is not None and run.trigger is Trigger.SCHEDULE:
            policy = {"expiresAt": time_text(run.expires_at), "availableAt": time_text(run.available_at)}
            skip = Skip(SkipReason.EXPIRED, run.scheduled_for, run.scheduled_for, 1, policy)
            record_drop(tx, task, skip, node=node, run_id=run.id)
    tx.emit(run_change(run, RunState.SKIPPED, node=node) for run in runs)
    ended = ended_of((run, RunState.SKIPPED) for run in runs)
    settle(tx, ended)
    tx.wake(Wake.RUNS)
    free_places(tx, runs)
    _enqueue_expiry_jobs(tx, runs)


def _enqueue_expiry_jobs(tx: Tx, runs: Sequence[Run]) -> None:
    """Enqueue runs of the jobs that the jobs of these runs name by ``on_expired``; see ``put_following``."""
    of_note = [run for run in runs if EXPIRY_OF not in (run.carried or {})]
    defaults = jobs.defaults(tx.conn, {run.job_name for run in of_note})
    put_following(
        tx,
        [
            FollowUp(run.id, ON_EXPIRED, job, partial(_expiry_job, tx, job, run))
            for run in of_note
            if (job := defaults[run.job_name].on_expired) is not None
        ],
    )


def _expiry_job(tx: Tx, job_name: str, run: Run) -> NewRun:
    return NewRun(
        job_name=job_name,
        trigger=Trigger.API,
        args={"expired": _expired(run, tx).document()},
        inherits=FOLLOWED,
        carried={**handed_on(run.carried), EXPIRY_OF: run.id},
        parent_labels=run.labels,
    )


def _expired(run: Run, tx: Tx) -> Expired:
    assert run.expires_at is not None, "it has expired"
    hidden = {name: f"[secret {name}]" for name in references(run.args)}
    return Expired(
        run_id=run.id,
        job_name=run.job_name,
        expires_at=time_text(run.expires_at),
        waited=round((tx.now - run.available_at).total_seconds(), 3),
        task_name=run.task_name,
        args=resolved(run.args, hidden) if hidden else run.args,
    )
