"""Gather the facts for explanations of many tasks and runs at once, in a fixed number of statements."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, case, func, select, text, tuple_

from ...core.admission.caps import Bucket, Cap, Line, Rate
from ...core.defaults import JobInfo
from ...core.explain import COUNTED_AHEAD, AwaitedRun, Leaving, LostAttempt, RunFacts, TaskFacts
from ...core.limits import task_of_key
from ...core.model import Group, Isolation, Outcome, Run, Task, TaskSource
from ...core.nodes import Blockage, Node, NodeState
from ...core.outcome import LEFT_BEHIND, NODE_LOST
from ...core.remote import RemoteAttempt
from ...core.states import CLAIMABLE, FINAL, OCCUPYING, UNFINISHED, RunState
from ...core.waits import LISTED, Awaits
from ..db import dialect
from ..db.functions import sql_literal, sql_literals
from ..schema.tables import HAS_PLACE, IS_OPEN, flow_edge
from ..schema.tables import job as j
from ..schema.tables import job_execution as e
from ..schema.tables import rate_bucket as b
from ..schema.tables import run as r
from .executions import open_remote_attempts
from .groups import UNBEGUN_STATES, occupied_counts, waiting_in
from .groups import by_names as groups_by_names
from .jobs import by_names as jobs_by_names
from .jobs import declaring
from .listing.criteria import one_of
from .listing.keyset import OrderKey, PageRequest
from .listing.pages import pages_of
from .lists import RUNS
from .nodes import live
from .tasks import newest_skipped, rates_of

SHOWN_UNFINISHED = 50
"""Unfinished runs of a task that are looked at, oldest first."""

_UNFINISHED = PageRequest(
    (OrderKey("id"),), SHOWN_UNFINISHED, one_of("state", tuple(sorted(UNFINISHED, key=lambda state: state.value)))
)


def of_tasks(conn: Connection, tasks: Sequence[Task], now: datetime) -> dict[int, TaskFacts]:
    """Return the facts about each task, by its key."""
    ids = [task.id for task in tasks]
    nodes = live(conn)
    jobs = jobs_by_names(conn, sorted({task.spec.job_name for task in tasks}), nodes)
    coded = {task.name for task in tasks if task.source is TaskSource.CODE}
    declared = declaring(conn, coded, nodes) if coded else {}
    unfinished = pages_of(conn, RUNS, "task_id", ids, _UNFINISHED)
    skips = newest_skipped(conn, ids)
    firsts = {task_id: page.items[0] for task_id, page in unfinished.items() if _none_runs(page.items)}
    waits = of_runs(conn, list(firsts.values()), now, nodes)
    return {
        task.id: TaskFacts(
            job_known=task.spec.job_name in jobs,
            nodes=tuple(node.name for node in nodes if node.takes(task.spec.job_name, task.spec.group)),
            left=_left(nodes, jobs.get(task.spec.job_name), task.spec.group),
            unfinished=unfinished[task.id].items,
            waits=waits.get(firsts[task.id].id) if task.id in firsts else None,
            newest_skip=skips.get(task.id),
            abandoned=task.name in coded and task.name not in declared,
            blockages={node.name: node.blockage for node in nodes if node.blockage is not None},
            stalls=_stalls(nodes),
        )
        for task in tasks
    }


def _left(nodes: Sequence[Node], job: JobInfo | None, group: str) -> tuple[Leaving, ...]:
    """Return the nodes that know a job, but were started to take other runs than these."""
    if job is None:
        return ()
    found = ((node, node.choice.leaves(job.name, job.tags, group)) for node in nodes if job.name in node.jobs)
    return tuple(Leaving(node.name, by, node.choice.words) for node, by in found if by is not None)


def _stalls(nodes: Sequence[Node]) -> dict[str, str]:
    return {node.name: node.stall for node in nodes if node.stall is not None}


def _none_runs(unfinished: Sequence[Run]) -> bool:
    return bool(unfinished) and all(run.state is not RunState.RUNNING for run in unfinished)


@dataclass(frozen=True, slots=True)
class _Queue:
    """Describe the queue, as far as the asked runs are concerned."""

    jobs: Mapping[str, JobInfo]
    nodes: Sequence[Node]
    blockages: Mapping[str, Blockage]
    groups: Mapping[str, Group]
    occupied: Mapping[str, int]
    held: Mapping[int, Counter[Isolation]]
    blocking: Mapping[int, int]
    ahead: Mapping[int, int]
    lost: Mapping[int, LostAttempt]
    places: Mapping[str, "_Places"]
    full_at: Mapping[tuple[str, str], datetime]
    task_rates: Mapping[int, Rate]
    awaited: Mapping[int, Sequence[AwaitedRun]]
    remote: Mapping[int, RemoteAttempt]
    waiting: Mapping[Line, int]


def of_runs(
    conn: Connection, runs: Sequence[Run], now: datetime, known_nodes: Sequence[Node] | None = None
) -> dict[int, RunFacts]:
    """Return the facts about each unfinished run, by its key; of finished ones nothing needs to be known.

    Args:
        known_nodes: The live nodes, where they were read already.
    """
    asked = [run for run in runs if run.state not in FINAL]
    if not asked:
        return {}
    groups = {run.group for run in asked}
    found = groups_by_names(conn, sorted(groups))
    nodes = live(conn) if known_nodes is None else known_nodes
    jobs = jobs_by_names(conn, sorted({run.job_name for run in asked}), nodes)
    queue = _Queue(
        jobs=jobs,
        nodes=[node for node in nodes if node.state in (NodeState.ACTIVE, NodeState.STALLED)],
        blockages={node.name: node.blockage for node in nodes if node.blockage is not None},
        groups=found,
        occupied=occupied_counts(conn, sorted(groups)),
        held=_held(conn),
        blocking=_blocking(conn, {run.task_id for run in asked if run.exclusive and run.task_id is not None}),
        ahead=_ahead(conn, [run for run in asked if run.state in CLAIMABLE], now),
        lost=_lost(conn, [run.id for run in asked if run.failures]),
        places=_places(conn, {run.concurrency_key for run in asked if run.concurrency_key is not None}),
        full_at=_full_at(conn, {(run.job_name, run.rate_key) for run in asked if run.rate_key is not None}),
        task_rates=_task_rates(conn, asked),
        awaited=_awaited(conn, asked),
        remote=_remote(conn, asked, jobs),
        waiting=_waiting(conn, {line: cap for run in asked for line, cap in _caps(run, jobs, found).items()}),
    )
    return {run.id: _facts(run, queue) for run in asked}


def _facts(run: Run, queue: _Queue) -> RunFacts:
    job = queue.jobs.get(run.job_name)
    knowing = [node for node in queue.nodes if node.takes(run.job_name, run.group)]
    # Without a node of that very version any may try, and so they may with arguments that nobody has checked.
    able = [node for node in knowing if node.signatures[run.job_name] == run.signature] or knowing
    kind = None if job is None else job.isolation
    in_children = kind is Isolation.PROCESS
    faults = {node.name: node.launcher_fault for node in able if in_children and node.launcher_fault is not None}
    starting = [node for node in able if node.blockage is None and node.stall is None and node.name not in faults]
    blocking = queue.blocking.get(run.task_id or 0) if run.exclusive else None
    places = queue.places.get(run.concurrency_key or "", _Places())
    return RunFacts(
        job_known=job is not None,
        isolation=kind,
        nodes=tuple(node.name for node in able),
        group=queue.groups.get(run.group, Group(run.group)),
        left=_left(queue.nodes, job, run.group),
        group_occupied=queue.occupied.get(run.group, 0),
        blocked_by=None if blocking == run.id else blocking,
        key_running=places.taken,
        key_kept=places.kept,
        key_holder=places.first,
        bucket=_bucket(run, queue),
        ahead=queue.ahead.get(run.id, 0),
        slots=sum(_slots(node, kind) for node in starting),
        other_version=tuple(node.name for node in knowing if node not in able),
        free_slots=sum(_free(node, queue, kind) for node in starting),
        takes=1 if job is None else job.slots,
        largest=max((_slots(node, kind) for node in able), default=0),
        most_free=max((_free(node, queue, kind) for node in starting), default=0),
        blockages=queue.blockages,
        launcher_faults=faults,
        stalls=_stalls(able),
        lost=queue.lost.get(run.id),
        awaited=tuple(queue.awaited.get(run.id, ())),
        remote=queue.remote.get(run.id),
        caps=tuple((line, cap, queue.waiting[line]) for line, cap in _caps(run, queue.jobs, queue.groups).items()),
    )


def _remote(conn: Connection, runs: Sequence[Run], jobs: Mapping[str, JobInfo]) -> dict[int, RemoteAttempt]:
    """Return the attempts of these runs that are at an engine, by run."""
    running = [run.id for run in runs if run.state is RunState.RUNNING and run.job_name in jobs]
    at_engines = any(job.isolation is Isolation.REMOTE for job in jobs.values())
    return open_remote_attempts(conn, running) if running and at_engines else {}


def _caps(run: Run, jobs: Mapping[str, JobInfo], groups: Mapping[str, Group]) -> dict[Line, Cap]:
    """Return where a run that waits is counted, and how many may wait there."""
    if run.attempt or run.flow_id is not None or run.state not in UNBEGUN_STATES:
        return {}
    limits = jobs[run.job_name].defaults.limits if run.job_name in jobs else None
    of_key = None if limits is None or run.cap_key is None else limits.cap
    of_group = groups[run.group].cap if run.group in groups else None
    both = ((Line(run.job_name, run.cap_key or ""), of_key), (Line(None, run.group), of_group))
    return {line: cap for line, cap in both if cap is not None}


def _waiting(conn: Connection, caps: Mapping[Line, Cap]) -> dict[Line, int]:
    return {line: waiting_in(conn, line, 2 * cap.limit) for line, cap in caps.items()}


def _bucket(run: Run, queue: _Queue) -> Bucket | None:
    """Return the tokens left of the rate of the run's task or job, if it has one."""
    if run.rate_key is None:
        return None
    task_id = task_of_key(run.rate_key)
    job = queue.jobs.get(run.job_name)
    limits = None if job is None else job.defaults.limits
    of_job = None if limits is None else limits.rate
    rate = of_job if task_id is None else queue.task_rates.get(task_id)
    return None if rate is None else Bucket(rate, queue.full_at.get((run.job_name, run.rate_key)))


def _task_rates(conn: Connection, runs: Sequence[Run]) -> dict[int, Rate]:
    wanted = {task_id for run in runs if (task_id := task_of_key(run.rate_key)) is not None}
    return rates_of(conn, wanted) if wanted else {}


class _Places(NamedTuple):
    """The runs that have a place of a concurrency key: how many, of these not executed now, and the first of them."""

    taken: int = 0
    kept: int = 0
    first: int | None = None


def _places(conn: Connection, keys: Collection[str]) -> dict[str, _Places]:
    """Return the places that runs have of each of these concurrency keys."""
    if not keys:
        return {}
    kept = r.c.state.not_in(sql_literals(OCCUPYING))
    statement = (
        select(r.c.concurrency_key, func.count(), func.count(case((kept, 1))), func.min(r.c.id))
        .where(r.c.concurrency_key.in_(sorted(keys)), IS_OPEN, text(HAS_PLACE))
        .group_by(r.c.concurrency_key)
    )
    return {key: _Places(*places) for key, *places in conn.execute(statement)}


def _full_at(conn: Connection, names: Collection[tuple[str, str]]) -> dict[tuple[str, str], datetime]:
    """Return when each of these buckets, by job and key, is full again."""
    if not names:
        return {}
    statement = select(b.c.job_name, b.c.rate_key, b.c.full_at).where(tuple_(b.c.job_name, b.c.rate_key).in_(names))
    return {(job_name, rate_key): full_at for job_name, rate_key, full_at in conn.execute(statement)}


def waiting_for_tokens(
    conn: Connection, buckets: Collection[tuple[str, str]], before: int
) -> dict[tuple[str, str], int]:
    """Return how many runs older than this id wait that take a token of each of these buckets, by job and rate key.

    No index counts them: it is for one look of a person, not for the way of a run.
    """
    if not buckets:
        return {}
    statement = (
        select(r.c.job_name, r.c.rate_key, func.count())
        .where(
            tuple_(r.c.job_name, r.c.rate_key).in_(sorted(buckets)),
            r.c.state.in_(sql_literals(CLAIMABLE)),
            r.c.id < before,
        )
        .group_by(r.c.job_name, r.c.rate_key)
    )
    return {(job_name, rate_key): count for job_name, rate_key, count in conn.execute(statement)}


def _runs_awaited_by(run: Run) -> tuple[int, ...]:
    if run.awaits is None:
        return ()
    awaits = Awaits.from_json(run.awaits)
    return tuple(dict.fromkeys(one for part in (awaits, *awaits.others) for one in part.runs))


def _awaited(conn: Connection, runs: Sequence[Run]) -> dict[int, list[AwaitedRun]]:
    """Return some of the unfinished runs that each suspended run waits for."""
    named = {run.id: _runs_awaited_by(run) for run in runs if run.awaits is not None}
    ids = sorted({one for listed in named.values() for one in listed})
    found: dict[int, list[AwaitedRun]] = {key: [] for key in named}
    if ids:
        statement = select(r.c.id, r.c.job_name, r.c.state).where(r.c.id.in_(ids), r.c.finished_at.is_(None))
        known = {row.id: AwaitedRun(row.id, row.job_name, RunState(row.state)) for row in conn.execute(statement)}
        found = {key: [known[one] for one in listed if one in known] for key, listed in named.items()}
    members = [run_id for run_id, listed in found.items() if not listed]
    if members:
        place = func.row_number().over(partition_by=flow_edge.c.run_id, order_by=r.c.id)
        before = (
            select(flow_edge.c.run_id.label("of"), r.c.id, r.c.job_name, r.c.state, place.label("place"))
            .join_from(flow_edge, r, r.c.id == flow_edge.c.after_id)
            .where(flow_edge.c.run_id.in_(members), r.c.finished_at.is_(None))
            .subquery("before")
        )
        shown = select(before).where(before.c.place <= LISTED).order_by(before.c.id)
        for row in conn.execute(shown):
            found[row.of].append(AwaitedRun(row.id, row.job_name, RunState(row.state)))
    return found


def _slots(node: Node, kind: Isolation | None) -> int:
    if kind is Isolation.REMOTE:
        return node.remote_slots or 0
    limits = {Isolation.THREAD: node.thread_slots, Isolation.PROCESS: node.process_slots}
    return min(node.slots, limits.get(kind or Isolation.ASYNC) or node.slots)


def _free(node: Node, queue: _Queue, kind: Isolation | None) -> int:
    held = queue.held.get(node.id, Counter())
    if kind is Isolation.REMOTE:
        return max(0, _slots(node, kind) - held[kind])
    taken = held.total() - held[Isolation.REMOTE]
    of_kind = taken if kind in (None, Isolation.ASYNC) else held[kind]
    return max(0, min(node.slots - taken, _slots(node, kind) - of_kind))


def _held(conn: Connection) -> dict[int, Counter[Isolation]]:
    """Return how many slots the runs of each node hold by where they run; those of unknown jobs count as threads."""
    # The first condition says nothing new, but the index over what nodes hold is made for it.
    running = (r.c.state.in_(sql_literals(OCCUPYING)), r.c.state == sql_literal(RunState.RUNNING))
    kind = func.coalesce(j.c.isolation, Isolation.THREAD.value)
    statement = (
        select(r.c.node_id, kind, func.sum(func.coalesce(j.c.slots, 1)))
        .outerjoin_from(r, j, j.c.name == r.c.job_name)
        .where(*running)
        .group_by(r.c.node_id, kind)
    )
    held: dict[int, Counter[Isolation]] = {}
    for node_id, word_of_kind, count in conn.execute(statement):
        held.setdefault(node_id, Counter())[Isolation(word_of_kind)] += int(count)
    return held


def _lost(conn: Connection, run_ids: Sequence[int]) -> dict[int, LostAttempt]:
    """Return the newest attempt of each of these runs that was lost with its node."""
    if not run_ids:
        return {}
    statement = (
        select(e.c.run_id, e.c.attempt, e.c.node, e.c.error_type)
        .where(
            e.c.run_id.in_(run_ids),
            e.c.outcome == sql_literal(Outcome.LOST),
            e.c.error_type.in_([NODE_LOST, LEFT_BEHIND]),
        )
        .order_by(e.c.run_id, e.c.attempt)
    )
    return {
        run_id: LostAttempt(attempt, node, error_type == LEFT_BEHIND)
        for run_id, attempt, node, error_type in conn.execute(statement)
    }


def _blocking(conn: Connection, task_ids: Collection[int]) -> dict[int, int]:
    """Return the scheduled or running run of each of these tasks that has one."""
    statement = (
        select(r.c.task_id, func.min(r.c.id))
        .where(r.c.task_id.in_(sorted(task_ids)), r.c.state.in_(sql_literals(OCCUPYING)))
        .group_by(r.c.task_id)
    )
    return {key: value for key, value in conn.execute(statement)}


def _ahead(conn: Connection, waiting: Sequence[Run], now: datetime) -> dict[int, int]:
    """Return how many runs of its group and priority were due before each run, counted up to a bound."""
    columns = {
        "id": dialect.KINDS[int],
        "group_name": dialect.KINDS[str],
        "priority": dialect.KINDS[str],
        "available_at": dialect.KINDS[datetime],
    }
    rows = [(run.id, run.group, run.priority.value, run.available_at) for run in waiting]
    asked, parameters = dialect.batch(conn, columns, rows, name="asked")
    in_front = (
        select(r.c.id)
        .where(
            r.c.group_name == asked.c.group_name,
            r.c.priority == asked.c.priority,
            r.c.state.in_(sql_literals(CLAIMABLE)),
            r.c.available_at <= now,
            tuple_(r.c.available_at, r.c.id) < tuple_(asked.c.available_at, asked.c.id),
        )
        .limit(COUNTED_AHEAD)
        .correlate(asked)
        .subquery("in_front")
    )
    number = select(func.count()).select_from(in_front).scalar_subquery()
    return {key: value for key, value in conn.execute(select(asked.c.id, number), parameters)}
