"""Attempts end: many in one transaction, each accepted at most once."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import Connection, update

from ..core.events import ENDED
from ..core.model import Json, NewRun, Outcome, Run
from ..core.outcome import INVALID_ARGUMENTS, LEFT_BEHIND, Failed, JobOutcome, Succeeded, Suspended, Unread, judge
from ..core.states import FINAL, RunState
from ..store.db import dialect
from ..store.db.autocommit import AutocommitConnection, NotConnectedError
from ..store.db.database import Database
from ..store.db.functions import sql_literal
from ..store.db.transaction import Tx, Wake
from ..store.schema.tables import job_execution as e
from ..store.schema.types import to_text
from ..store.statements import nodes as stored_nodes
from ..store.statements.logs import LogLine
from .base import runs as run_store
from .base import statements
from .base.apart import AT_END, FLOW, append_lines, in_halves, note_lost
from .base.changes import finished_changes, many_changes, wake
from .base.runs import count_ends
from .base.shapes import HeldRun
from .cancel import cancel_all
from .claims.claim import Claimant
from .claims.starts import Started, started_in
from .enqueue.enqueue import FinalFailure, FollowUp, enqueue_failure_jobs, put_following
from .flows.children import below, enqueue_cancel_jobs, undo
from .flows.flow_ends import Ended, ended_of, hold, settle
from .limits.admission import give_back, let_go, slots_of
from .steps import mark_unused
from .versions import Misfit, keep_unread, left_to_versions
from .waits import ask_for, fulfilled


class Ending(NamedTuple):
    """The end of one attempt, as it is written into its run and its execution.

    ``cancelled``: it takes into account that the run was asked to stop; others are not written once it was.
    ``is_common``: it succeeded, and nothing but a number is to be kept of it.
    """

    id: int
    attempt: int
    cancelled: bool
    execution_id: int
    state: str
    failures: int
    available_at: datetime | None
    finished_at: datetime | None
    error: str | None
    awaits: Any
    wake_at: datetime | None
    value: Any
    progress: Any
    success: bool
    outcome: str
    error_type: str | None
    traceback: str | None
    records_processed: int | None
    log_lines: int
    log_cut: int
    trace_id: str | None
    is_common: bool


class Before(NamedTuple):
    """A run as it was when its end was to be written, and whether that was done."""

    id: int
    state: str
    attempt: int
    node_id: int | None
    cancel_requested: bool
    ended: bool


def end_attempts(conn: Connection, node_id: int, now: datetime, endings: Sequence[Ending]) -> dict[int, Before]:
    """End running attempts of this node and complete their executions; return the runs as they were, by id.

    The attempt and the node are the fence: a run that was taken from this node is not touched. The runs are locked in
    ascending order, so that two bulk actions never wait for each other.
    """
    if not endings:
        return {}
    if not dialect.is_postgresql(conn):
        return _end_on_sqlite(conn, node_id, now, endings)
    listed = json.dumps([one._asdict() for one in endings], default=dialect.time_text)
    asked = {"node_id": node_id, "now": now, "endings": listed}
    rows = statements.picked(conn, "end_attempts", asked, Before._fields)
    return {row[0]: Before._make(row) for row in rows}


def note_left_behind(conn: Connection, node_id: int, execution_ids: Sequence[int], sentence: str) -> None:
    """Record that the code of a node's lost executions could not be stopped."""
    statement = (
        update(e)
        .where(e.c.id.in_(execution_ids), e.c.node_id == node_id, e.c.outcome == sql_literal(Outcome.LOST))
        .values(error_type=LEFT_BEHIND, error_message=e.c.error_message + f"; {sentence}")
    )
    conn.execute(statement)


def _end_on_sqlite(conn: Connection, node_id: int, now: datetime, endings: Sequence[Ending]) -> dict[int, Before]:
    """Write row by row, by the key: with a single writer, rows that were read hold until they are written."""
    asked = {"ids": [one.id for one in endings]}
    before = {row[0]: row for row in statements.picked(conn, "attempts_to_end", asked, Before._fields[:-1])}
    ended = [one for one in endings if one.id in before and _is_open(before[one.id], one, node_id)]
    at = to_text(now)
    common = [one for one in ended if one.is_common]
    if common:
        runs = json.dumps([one.id for one in common])
        executions = json.dumps({one.execution_id: _success_of(one) for one in common})
        statements.execute_on_sqlite(conn, "end_successes", {"ids": runs, "now": at})
        statements.execute_on_sqlite(conn, "close_successes", {"executions": executions, "now": at})
    others = [_as_stored(one, at) for one in ended if not one.is_common]
    if others:
        statements.execute_on_sqlite(conn, "end_attempt", others)
        statements.execute_on_sqlite(conn, "close_execution", others)
    count_ends(conn, [one.execution_id for one in ended])
    done = {one.id for one in ended}
    return {run_id: Before._make((*row[:-1], bool(row[-1]), run_id in done)) for run_id, row in before.items()}


def _success_of(one: Ending) -> Any:
    return one.records_processed if one.trace_id is None else [one.records_processed, one.trace_id]


def _is_open(stored: Sequence[Any], one: Ending, node_id: int) -> bool:
    _, state, attempt, node, cancel_requested = stored
    is_ours = node == node_id and attempt == one.attempt
    return is_ours and state == RunState.RUNNING.value and (one.cancelled or not cancel_requested)


def _as_stored(one: Ending, at: str) -> dict[str, Any]:
    """Return the parameters of ``end_attempt`` and ``close_execution``."""
    return {
        **one._asdict(),
        "now": at,
        "available_at": _time(one.available_at),
        "finished_at": _time(one.finished_at),
        "awaits": _document(one.awaits),
        "wake_at": _time(one.wake_at),
        "value": _document(one.value),
        "progress": _document(one.progress),
    }


def _time(instant: datetime | None) -> str | None:
    return None if instant is None else to_text(instant)


def _document(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


@dataclass(frozen=True, slots=True)
class Finish:
    """An attempt that ended: the run as it was started, its execution, and how it ended.

    ``cancelled`` says that a cancel had been requested when the job ended. ``log_tail`` are its last lines, written
    in the same transaction; ``log_lines`` is how many are kept in all, ``log_cut`` how many were dropped. ``at_end`` is
    put into the queue in that transaction, if the run ends well; ``unused_steps`` are results that it did not ask for.
    ``seconds`` is how long its code ran, for monitoring; ``trace_id`` the trace in which it appears. ``version_wait``:
    for how many seconds the run may wait for a version of its job that can read its arguments, if this one cannot.
    ``pinned``: the signature of the version with which a run that waits stays while a node has it; None = with any.
    """

    run: Run | HeldRun
    execution_id: int
    outcome: JobOutcome
    cancelled: bool = False
    progress: Json = None
    log_tail: tuple[LogLine, ...] = ()
    log_lines: int = 0
    log_cut: int = 0
    at_end: tuple[NewRun, ...] = ()
    unused_steps: frozenset[str] = frozenset()
    seconds: float = 0.0
    trace_id: str | None = None
    version_wait: float = 0.0
    pinned: str | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """Hold the accepted results; the others were stale, because the run had been taken from this node.

    Attributes:
        judged: Ends that are stored otherwise than they were handed in, by run: the arguments did not fit.
        foreign: The signatures of other versions that other nodes have, if the transaction had to ask for them.
        started: Runs that waited for the slots of these and whose attempts have begun on the same node.
    """

    accepted: frozenset[int]
    judged: Mapping[int, JobOutcome] = field(default_factory=dict[int, JobOutcome])
    foreign: frozenset[str] | None = None
    started: tuple[Started, ...] = ()

    def as_stored(self, ended: Finish) -> Finish:
        """Return an end as it is stored."""
        return replace(ended, outcome=self.judged[ended.run.id]) if ended.run.id in self.judged else ended


def finish(tx: Tx, node_id: int, node: str, ended: Sequence[Finish], *, alone: bool = False) -> Finished:
    """Write the ends of attempts, one of a run at most. Repeating it changes nothing and reports the same.

    A run whose cancel was requested in the last moment (after ``cancelled`` was read) still ends cancelled.

    Args:
        node_id: The node that executed them.
        alone: Whether they are to be stored even if something fails that follows them; that is recorded on them.
    """
    judged = _judge_misfits(tx, node_id, node, ended)
    if judged:
        ended = [replace(one, outcome=judged.get(one.run.id, one.outcome)) for one in ended]
    # What a run has begun and waits for is cancelled if it fails for good.
    may_fail = [one.run.id for one in ended if not isinstance(one.outcome, Succeeded | Suspended)]
    hold(tx.conn, {one.run.flow_id for one in ended}, may_fail)
    in_flows = _finish_in_flows(tx, node_id, node, ended)
    settle(tx, in_flows)
    done = frozenset(one.run_id for one in in_flows)
    ended = [one for one in ended if one.run.id not in done] if done else ended
    endings = {one.run.id: _ending(tx, one, cancelled=one.cancelled) for one in ended}
    before = end_attempts(tx.conn, node_id, tx.now, list(endings.values()))
    late = [one for one in ended if _was_cancelled_late(before.get(one.run.id), one, node_id)]
    if late:
        endings |= {one.run.id: _ending(tx, one, cancelled=True) for one in late}
        before |= end_attempts(tx.conn, node_id, tx.now, [endings[one.run.id] for one in late])
    changed = {run_id for run_id, run in before.items() if run.ended}
    accepted = [(one, endings[one.run.id]) for one in ended if one.run.id in changed]
    _emit(tx, node, accepted)
    settle(tx, ended_of((one.run, RunState(ending.state)) for one, ending in accepted))
    # What follows below follows no common end.
    others = [(one, end) for one, end in accepted if not end.is_common or one.run.concurrency_key is not None]
    lost = in_halves(tx, others, partial(_follow, tx)) if alone else ()
    for (one, _), error in lost:
        note_lost(tx, one.run.id, FLOW if one.run.flow_id is not None else "end", None, error)
    if others and not alone:
        _follow(tx, others)
    repeated = {
        one.run.id for one in ended if one.run.id not in changed and _is_done(before.get(one.run.id), one, node_id)
    }
    foreign = stored_nodes.foreign_signatures(tx.conn, node_id, tx.now) if judged else None
    return Finished(frozenset(changed | repeated | done), judged, foreign)


def finish_or_bare(tx: Tx, node_id: int, node: str, ended: Finish, bare: Finish) -> tuple[Finish, Finished]:
    """Write the end of one attempt; ``bare`` in its place, if it cannot be written. Returns the one that was written.

    Once ``bare`` was accepted, the end is tried again as it is: the database may have come to accept anything at all
    between the two, and then the end is not to blame.
    """
    finished: list[Finished] = []

    def write(ends: Sequence[Finish]) -> None:
        finished[:] = [finish(tx, node_id, node, ends, alone=True)]

    if in_halves(tx, [ended], write):
        with tx.savepoint() as take_back:
            write([bare])
            take_back()
        if in_halves(tx, [ended], write):
            write([bare])
            return bare, finished[0]
    return ended, finished[0]


def _follow(tx: Tx, accepted: Sequence[tuple[Finish, Ending]]) -> None:
    """Write the consequences of accepted ends that are not common."""
    following = [
        FollowUp(one.run.id, AT_END, run.job_name, partial(_itself, run))
        for one, ending in accepted
        if one.at_end and ending.state == RunState.SUCCESS.value
        for run in one.at_end
    ]
    put_following(tx, following)
    for one, _ in accepted:
        if one.unused_steps:
            mark_unused(tx, one.run, one.unused_steps)
    _make_room(tx, accepted)
    # What they wait for may have come while their attempts ended.
    suspended = [one for one, ending in accepted if ending.state == RunState.SUSPENDED.value]
    unread = [(one.run, one.outcome.by) for one in suspended if isinstance(one.outcome, Unread)]
    if unread:
        keep_unread(tx, unread)
    asleep = [one.run.id for one in suspended if not isinstance(one.outcome, Unread)]
    for one in suspended:
        if isinstance(one.outcome, Suspended) and one.outcome.waits:
            ask_for(tx, one.run.id, one.outcome.waits)
    for one in suspended:
        if one.pinned is not None and one.pinned != one.run.signature:
            run_store.pin(tx.conn, one.run.id, one.pinned)
    if asleep:
        wake(tx, fulfilled(tx.conn, asleep))
    if any(ending.wake_at is not None for _, ending in accepted):
        # Who looks at due tasks sets its alarm for the earliest of both.
        tx.wake(Wake.TASKS)
    _follow_bad_ends(tx, accepted)


def _follow_bad_ends(tx: Tx, accepted: Sequence[tuple[Finish, Ending]]) -> None:
    """Write the consequences for runs that have failed for good or were cancelled."""
    failed = [(one.run, ending) for one, ending in accepted if ending.state == RunState.FAILED.value]
    abandoned = below(tx.conn, [run.id for run, _ in failed]) if failed else []
    if abandoned:
        cancel_all(tx, abandoned, reason="the run that waits for this one failed")
    enqueue_failure_jobs(tx, [FinalFailure(run, ending.error, ending.error_type) for run, ending in failed])
    cancelled = [(one.run, ending) for one, ending in accepted if ending.state == RunState.CANCELLED.value]
    enqueue_cancel_jobs(tx, [(run, ending.error) for run, ending in cancelled])
    undo(tx, [run for run, _ in (*failed, *cancelled)])


def _itself(run: NewRun) -> NewRun:
    return run


def _finish_in_flows(tx: Tx, node_id: int, node: str, ended: Sequence[Finish]) -> list[Ended]:
    """Write common ends of runs of flows by their own statement; return those that are stored."""
    in_flows = [one for one in ended if one.run.flow_id is not None and one.run.concurrency_key is None]
    common = [one for one in in_flows if _is_bare_success(one)]
    if not common or not dialect.is_postgresql(tx.conn):
        return []
    rows = statements.execute(tx.conn, "end_successes", _successes(node_id, node, common, tx.now))
    stored = {row.id for row in rows}
    if stored:
        tx.wake(Wake.RUNS | Wake.EVENTS)
    return ended_of((one.run, RunState.SUCCESS) for one in common if one.run.id in stored)


def _make_room(tx: Tx, accepted: Sequence[tuple[Finish, Ending]]) -> None:
    """Let go the runs that wait for the slots of these ends; runs that are handed back return their tokens."""
    let_go(tx, {one.run.concurrency_key for one, _ in accepted if one.run.concurrency_key is not None})
    back = [one.run for one, ending in accepted if ending.outcome == Outcome.HANDED_BACK.value]
    if back:
        give_back(tx, back)


def is_common(ended: Finish) -> bool:
    """Return whether an attempt ended as most do: it succeeded, and nothing but a number is to be kept of it.

    Follow-ups of the end of a run of a flow take a transaction.
    """
    return ended.run.flow_id is None and _is_bare_success(ended)


def _is_bare_success(ended: Finish) -> bool:
    outcome = ended.outcome
    return (
        type(outcome) is Succeeded
        and outcome.value is None
        and ended.log_lines == 0
        and not ended.cancelled
        and ended.progress is None
        and not ended.at_end
        and not ended.unused_steps
    )


async def finish_common(
    connection: AutocommitConnection, node: tuple[int, str], ended: Sequence[Finish], heir: Claimant | None = None
) -> tuple[Finished, Wake]:
    """Write common ends, one of a run at most; return the runs whose end is stored now.

    The others were asked to stop, taken from this node, or ended by an earlier try whose answer was lost, or there is
    no connection for them: ``finish`` sees to them.

    Args:
        connection: A connection of the caller's.
        node: The id and the name of the node that executed them.
        heir: The node, if it may begin runs that wait for the concurrency keys of these; None = claims do.
    """
    requests = [("end_successes", _successes(*node, ended, None))]
    keyed = {one.run.id: one.run.concurrency_key for one in ended if one.run.concurrency_key is not None}
    if keyed:
        requests.append(("lock_keys", {"keys": list(keyed.values())}))
        if heir is not None:
            requests.append(("hand_over", _inheritance(heir, list(keyed))))
        requests.append(("let_go_by_slots", slots_of(set(keyed.values()))))
    try:
        answers = await connection.together(*((statements.for_driver(name), values) for name, values in requests))
    except NotConnectedError:
        return Finished(frozenset()), Wake.NONE
    found = dict(zip((name for name, _ in requests), answers, strict=True))
    stored = frozenset(row.id for row in found["end_successes"])
    started = started_in(found.get("hand_over", ()), node)
    finished = Finished(stored, started=tuple(started[run_id] for run_id in sorted(started)))
    if not stored and not started:
        return finished, Wake.NONE
    # A group with a limit, or an exclusive task, has room for others; neither hands anything over.
    left = {one.run.group for one in ended} - {one.run.group for one in finished.started}
    is_settled = len(started) == len(ended) == len(stored) and not left and not found["let_go_by_slots"]
    if is_settled and all(one.run.task_id is None for one in ended):
        return finished, Wake.EVENTS
    return finished, Wake.EVENTS | Wake.RUNS


def _inheritance(heir: Claimant, ids: Sequence[int]) -> dict[str, Any]:
    """Return the parameters of ``hand_over``."""
    return {
        "ids": list(ids), "jobs": list(heir.jobs), "foreign": sorted(heir.foreign), "groups": list(heir.groups) or None,
        "node_id": heir.node_id, "node": heir.node,
    }  # fmt: skip


def _successes(node_id: int, node: str, ended: Sequence[Finish], now: datetime | None) -> dict[str, Any]:
    """Return the parameters of ``end_successes``."""
    # In ascending order, so that nobody waits for anybody in a circle.
    successes = sorted(
        (one.run.id, one.run.attempt, one.execution_id, one.outcome.records_processed, one.trace_id)
        for one in ended
        if isinstance(one.outcome, Succeeded)
    )
    *numbers, traces = zip(*successes, strict=True)
    columns = dict(zip(("ids", "attempts", "executions", "records"), map(statements.array, numbers), strict=True))
    return columns | {"node_id": node_id, "node": node, "now": now, "traces": list(traces) if any(traces) else None}


async def store(
    database: Database,
    connection: AutocommitConnection | None,
    ended: Sequence[Finish],
    heir: Claimant | None = None,
) -> AsyncIterator[tuple[Sequence[Finish], Finished]]:
    """Store ends, one of a run at most: the common ones by one statement, all others in a transaction for each node.

    Args:
        connection: For the common ones; None: they are stored as all others are.
        ended: Of one life of a node or more.
        heir: See ``finish_common``.

    Yields:
        The stored runs now, and the accepted ends.
    """
    by_node: dict[tuple[int, str], list[Finish]] = {}
    for one in ended:
        by_node.setdefault((one.run.node_id or 0, one.run.node or ""), []).append(one)
    for node, ends in by_node.items():
        common = [one for one in ends if is_common(one)] if connection is not None else []
        finished = Finished(frozenset())
        if connection is not None and common:
            own = heir if heir is not None and heir.node_id == node[0] else None
            finished = await database.on_connection(finish_common, connection, node, common, own)
        if finished.accepted or finished.started:
            yield [one for one in common if one.run.id in finished.accepted], finished
        rest = [one for one in ends if one.run.id not in finished.accepted]
        if rest:
            yield rest, await database.write(finish, *node, rest)


def _judge_misfits(tx: Tx, node_id: int, node: str, ended: Sequence[Finish]) -> dict[int, Unread | Failed]:
    """Return the ends, by run, of attempts whose arguments the node's version of the job could not read."""
    misfits = [
        Misfit(one.run, one.outcome.message, one.version_wait)
        for one in ended
        if isinstance(one.outcome, Failed) and one.outcome.error_type == INVALID_ARGUMENTS
    ]
    return left_to_versions(tx, node_id, node, misfits) if misfits else {}


def _emit(tx: Tx, node: str, accepted: Sequence[tuple[Finish, Ending]]) -> None:
    """Keep the last log lines of the accepted ends, and emit their events."""
    tail = [connection for one, _ in accepted for connection in one.log_tail]
    if tail:
        append_lines(tx, tail)
    for common, some in groupby(accepted, _is_success):
        if common:
            tx.emit([many_changes(ENDED, node, ((one.run, one.execution_id) for one, _ in some))])
            continue
        for one, ending in some:
            state, outcome = RunState(ending.state), Outcome(ending.outcome)
            tx.emit(finished_changes(one.run, one.execution_id, node, state, outcome))
    if accepted:
        tx.wake(Wake.RUNS)


def _is_success(accepted: tuple[Finish, Ending]) -> bool:
    _, ending = accepted
    return (ending.state, ending.outcome) == (RunState.SUCCESS.value, Outcome.SUCCESS.value)


def _is_held(stored: Before | None, one: Finish, node_id: int) -> bool:
    return stored is not None and stored.node_id == node_id and stored.attempt == one.run.attempt


def _was_cancelled_late(stored: Before | None, one: Finish, node_id: int) -> bool:
    """Return whether the attempt still runs, and its run was asked to stop after its job had ended."""
    running = stored is not None and stored.state == RunState.RUNNING.value and stored.cancel_requested
    return running and not one.cancelled and _is_held(stored, one, node_id)


def _is_done(stored: Before | None, one: Finish, node_id: int) -> bool:
    """Return whether the stored run already carries the end of exactly this attempt by this node."""
    return stored is not None and stored.state != RunState.RUNNING.value and _is_held(stored, one, node_id)


def _ending(tx: Tx, one: Finish, *, cancelled: bool) -> Ending:
    run = one.run
    it = judge(one.outcome, failures=run.failures, retries=run.retries, base_delay=run.retry_delay, cancelled=cancelled)
    is_suspended = it.state is RunState.SUSPENDED
    later = None if it.delay is None else tx.now + timedelta(seconds=it.delay)
    return Ending(
        id=run.id,
        attempt=run.attempt,
        cancelled=cancelled,
        execution_id=one.execution_id,
        state=it.state.value,
        failures=it.failures,
        available_at=None if is_suspended else later,
        finished_at=tx.now if it.state in FINAL else None,
        error=it.error,
        awaits=None if it.awaits is None else it.awaits.to_json(),
        wake_at=(it.until or later) if is_suspended else None,
        value=it.value,
        progress=one.progress,
        success=it.outcome.is_success,
        outcome=it.outcome.value,
        error_type=it.error_type,
        traceback=it.traceback,
        records_processed=it.records_processed,
        log_lines=one.log_lines,
        log_cut=one.log_cut,
        trace_id=one.trace_id,
        is_common=_is_bare_success(one) and not cancelled,
    )
