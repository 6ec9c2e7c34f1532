"""Judge timers whose time has come: the state of the subject decides, so that nothing is missed after a pause."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from shutil import disk_usage
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, text

from ..core.alarms import Condition, SubjectKind, seconds_text
from ..core.base.times import EARLIEST, counted
from ..core.nodes import TAKING_NODES, Node
from ..core.occurrences import jitter_offset
from ..core.schedule import ScheduleError
from ..core.schedule.zones import find_zone
from ..core.states import CLAIMABLE
from ..store.db import dialect
from ..store.statements.groups import depths
from ..store.statements.nodes import live
from . import read
from .read import DueTimer, Limit, Occurrence, TimedTask
from .rules import LOOK_AGAIN, Alarm, TimerKind, next_wall_time
from .watching import Cause, Findings, Watchlist, run_of, subject_of, thing

SOONEST = timedelta(seconds=1)
STILL_LATE = timedelta(seconds=60)
"""Time between two looks at a task that is late because nothing makes a run of it."""
DAY = timedelta(days=1)
LOOK_AT_MACHINES = timedelta(seconds=60)
"""Time between two looks at the clocks of nodes, and at the database."""
_UTC: Final = ZoneInfo("UTC")


def judge_timers(conn: Connection, watch: Watchlist, due: Sequence[DueTimer], now: datetime) -> Findings:
    """Return the consequences of due timers, in a fixed number of statements."""
    found = Findings()
    looks: dict[Condition, list[tuple[Alarm, datetime]]] = defaultdict(list)
    running: list[tuple[Alarm, DueTimer]] = []
    for timer in due:
        alarm = watch.alarms.get(timer.alarm_id)
        found.timers[timer.alarm_id, timer.kind, timer.about] = None
        if timer.kind is TimerKind.SILENCE:
            found.ended_silences.add(timer.alarm_id)
        elif alarm is not None and timer.kind is TimerKind.RUNNING:
            running.append((alarm, timer))
        elif alarm is not None:
            looks[alarm.condition].append((alarm, timer.due_at))
    _look_at_executions(conn, watch, found, running, now)
    _look_at_groups(conn, watch, found, [alarm for alarm, _ in looks[Condition.BACKLOG]], now)
    for condition in (Condition.SKEW, Condition.IDLE):
        _look_at_nodes(conn, watch, found, [alarm for alarm, _ in looks[condition]], now)
    _look_at_database(conn, watch, found, [alarm for alarm, _ in looks[Condition.DATABASE]], now)
    _look_at_tasks(conn, watch, found, looks[Condition.LATE] + looks[Condition.OVERDUE], now)
    return found


def _look_at_executions(
    conn: Connection, watch: Watchlist, found: Findings, running: Sequence[tuple[Alarm, DueTimer]], now: datetime
) -> None:
    """Fire about executions and flows that run longer than they may."""
    flows = {timer.about for alarm, timer in running if alarm.subject_kind is SubjectKind.FLOW}
    executions = {timer.about for alarm, timer in running if alarm.subject_kind is not SubjectKind.FLOW}
    known_flows = read.watched_flows(conn, flows) if flows else {}
    known = read.watched(conn, executions) if executions else {}
    for alarm, timer in running:
        is_flow = alarm.subject_kind is SubjectKind.FLOW
        execution = (known_flows if is_flow else known).get(timer.about)
        until = now if execution is None else execution.completed_at or now
        if execution is None or until < timer.due_at:
            continue
        subject = subject_of(alarm)
        turn = watch.turn(found, alarm.id, subject)
        if turn.is_taken:
            # It fires about another execution: this one is looked at again.
            if execution.completed_at is None:
                found.timers[alarm.id, TimerKind.RUNNING, timer.about] = now + LOOK_AGAIN
            continue
        took = seconds_text((until - execution.started_at).total_seconds())
        verb = "has been running for" if execution.completed_at is None else "took"
        sentence = f"{thing(alarm)} {verb} {took}, in {run_of(alarm, timer.about)}"
        cause = Cause(alarm, subject, sentence, until, execution.run_id, timer.about)
        turn.fire(Cause(alarm, subject, sentence, until, flow_id=timer.about) if is_flow else cause)
        if execution.completed_at is not None:
            turn.resolve()


def _look_at_groups(
    conn: Connection, watch: Watchlist, found: Findings, alarms: Sequence[Alarm], now: datetime
) -> None:
    """Fire about groups whose queue is too long or too old; look again as long as anything waits."""
    known = depths(conn, sorted({subject_of(alarm) for alarm in alarms}), now) if alarms else {}
    for alarm in alarms:
        name, settings = subject_of(alarm), alarm.settings
        depth = known.get(name)
        waiting = 0 if depth is None else sum(depth.states.get(state, 0) for state in CLAIMABLE)
        age = (depth.oldest_wait if depth is not None else None) or 0.0
        reasons: list[str] = []
        if settings.older_than is not None and age > settings.older_than:
            reasons.append(f"its oldest run has waited for {seconds_text(age)}")
        if settings.deeper_than is not None and waiting > settings.deeper_than:
            reasons.append(f"{counted(waiting, 'run waits', 'runs wait')}")
        if reasons:
            cause = Cause(alarm, name, f"{thing(alarm)} has a backlog: {' and '.join(reasons)}", now)
            watch.turn(found, alarm.id, name).fire(cause)
        else:
            watch.resolve(found, alarm, name)
        if waiting or reasons:
            pause = LOOK_AGAIN
            if settings.older_than is not None and settings.deeper_than is None and not reasons:
                pause = max(SOONEST, timedelta(seconds=settings.older_than - age))
            found.timers[alarm.id, TimerKind.LOOK, 0] = now + pause


def _look_at_nodes(conn: Connection, watch: Watchlist, found: Findings, alarms: Sequence[Alarm], now: datetime) -> None:
    """Fire about live nodes by the clocks and the free slots of their last heartbeat."""
    nodes = live(conn) if alarms else []
    patience = min((one.settings.after or 0.0 for one in alarms), default=0.0)
    is_idle = bool(alarms) and alarms[0].condition is Condition.IDLE
    untaken = read.untaken(conn, now, timedelta(seconds=patience)) if is_idle else {}
    for alarm in alarms:
        causes = _idle(alarm, nodes, untaken, now) if is_idle else _off(alarm, nodes)
        watched = causes.keys() if alarm.subject is None else causes.keys() & {alarm.subject}
        for name in sorted(watched):
            watch.turn(found, alarm.id, name).fire(Cause(alarm, name, causes[name], now))
        for alarm_id, name in [*watch.open]:
            if alarm_id == alarm.id and name not in watched:
                watch.resolve(found, alarm, name)
        found.timers[alarm.id, TimerKind.LOOK, 0] = now + LOOK_AT_MACHINES


def _off(alarm: Alarm, nodes: Sequence[Node]) -> dict[str, str]:
    """Return sentences about the nodes whose clocks are off, by name."""
    skews = {node.name: node.clock_skew for node in nodes if abs(node.clock_skew) > (alarm.settings.most_skew or 0.0)}
    return {
        name: f"The clock of node '{name}' is {seconds_text(abs(skew))} {'ahead of' if skew > 0 else 'behind'} the "
        "database's"
        for name, skew in skews.items()
    }


def _idle(
    alarm: Alarm, nodes: Sequence[Node], untaken: Mapping[tuple[str, str], datetime], now: datetime
) -> dict[str, str]:
    """Return sentences about the nodes that have free slots, and leave due runs that they take to wait, by name."""
    found: dict[str, str] = {}
    patience = timedelta(seconds=alarm.settings.after or 0.0)
    for node in nodes:
        since = max(node.started_at, min((at for key, at in untaken.items() if node.takes(*key)), default=now))
        if node.state in TAKING_NODES and node.running < node.slots and now - since > patience:
            by = seconds_text((now - since).total_seconds())
            found[node.name] = f"Node '{node.name}' sends heartbeats and takes nothing: a run has been due for {by}"
    return found


class DatabaseState(NamedTuple):
    """The state of the database: bytes, free bytes if they are known, and seconds."""

    bytes: int
    free: int | None
    transaction: float
    lag: float


_SERVER: Final = text("""
    SELECT pg_database_size(current_database()),
        coalesce((SELECT extract(epoch FROM max(statement_timestamp() - xact_start)) FROM pg_stat_activity
                  WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'), 0)::float8,
        coalesce((SELECT extract(epoch FROM max(replay_lag)) FROM pg_stat_replication), 0)::float8
""")
_FILE: Final = text("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
_PATH: Final = text("SELECT file FROM pragma_database_list() WHERE name = 'main'")


def database_state(conn: Connection) -> DatabaseState:
    """Return the state of the database; of a file nobody has long transactions or standbys."""
    if dialect.is_postgresql(conn):
        size, transaction, lag = conn.execute(_SERVER).one()
        return DatabaseState(size, None, transaction, lag)
    free = disk_usage(Path(conn.execute(_PATH).scalar_one()).parent).free
    return DatabaseState(conn.execute(_FILE).scalar_one(), free, 0.0, 0.0)


def _look_at_database(
    conn: Connection, watch: Watchlist, found: Findings, alarms: Sequence[Alarm], now: datetime
) -> None:
    """Fire about the database itself."""
    if not alarms:
        return
    state = database_state(conn)
    for alarm in alarms:
        wanted, reasons = alarm.settings, list[str]()
        if wanted.larger_than is not None and state.bytes > wanted.larger_than:
            reasons.append(f"it has {state.bytes:,} bytes")
        if wanted.least_free is not None and state.free is not None and state.free < wanted.least_free:
            reasons.append(f"only {state.free:,} bytes are free on its disk")
        if wanted.transaction is not None and state.transaction > wanted.transaction:
            reasons.append(f"a transaction has been open for {seconds_text(state.transaction)}")
        if wanted.lag is not None and state.lag > wanted.lag:
            reasons.append(f"a standby is {seconds_text(state.lag)} behind")
        if reasons:
            cause = Cause(alarm, "", f"The database needs attention: {' and '.join(reasons)}", now)
            watch.turn(found, alarm.id, "").fire(cause)
        else:
            watch.resolve(found, alarm, "")
        found.timers[alarm.id, TimerKind.LOOK, 0] = now + LOOK_AT_MACHINES


def _look_at_tasks(
    conn: Connection, watch: Watchlist, found: Findings, looks: Sequence[tuple[Alarm, datetime]], now: datetime
) -> None:
    """Fire about tasks whose occurrences have not begun, or are not done, in time."""
    if not looks:
        return
    tasks = read.timed_tasks(conn, {subject_of(alarm) for alarm, _ in looks})
    late = [(alarm, tasks[subject_of(alarm)]) for alarm, _ in looks if _is(alarm, Condition.LATE, tasks)]
    for alarm, task in late:
        _judge_late(watch, found, alarm, task, now)
    overdue = [
        (alarm, tasks[subject_of(alarm)], due_at) for alarm, due_at in looks if _is(alarm, Condition.OVERDUE, tasks)
    ]
    if overdue:
        _judge_overdue(conn, watch, found, overdue, now)


def _is(alarm: Alarm, condition: Condition, tasks: dict[str, TimedTask]) -> bool:
    return alarm.condition is condition and subject_of(alarm) in tasks


def _judge_late(watch: Watchlist, found: Findings, alarm: Alarm, task: TimedTask, now: datetime) -> None:
    grace, waiting = timedelta(seconds=alarm.settings.grace or 0.0), task.waiting
    following: list[datetime] = []
    if waiting is not None:
        limit = waiting.scheduled_for + jitter_offset(task.id, task.jitter) + grace
        if limit <= now:
            by = seconds_text((now - limit + grace).total_seconds())
            sentence = f"{thing(alarm)} is late by {by}: run {waiting.run_id} waits and has not started"
            cause = Cause(alarm, task.name, sentence, now, waiting.run_id, None, task.id, waiting.scheduled_for)
            watch.turn(found, alarm.id, task.name).fire(cause)
        else:
            following.append(limit)
    if task.next_execution is not None and task.enabled:
        limit = task.next_execution + grace
        if limit <= now:
            by = seconds_text((now - task.next_execution).total_seconds())
            sentence = f"{thing(alarm)} is late by {by}: no run was made of its occurrence"
            cause = Cause(alarm, task.name, sentence, now, None, None, task.id, task.next_nominal)
            watch.turn(found, alarm.id, task.name).fire(cause)
            limit = now + STILL_LATE
        following.append(limit)
    if following:
        found.timers[alarm.id, TimerKind.LOOK, 0] = max(min(following), now + SOONEST)


def _judge_overdue(
    conn: Connection,
    watch: Watchlist,
    found: Findings,
    looks: Sequence[tuple[Alarm, TimedTask, datetime]],
    now: datetime,
) -> None:
    limits = {alarm.id: Limit(alarm.id, task.id, _limit(alarm, task, due_at, now)) for alarm, task, due_at in looks}
    newest = read.occurrences(conn, "newest", list(limits.values()))
    upcoming = read.occurrences(conn, "next", list(limits.values()))
    successes = read.last_successes(conn, SubjectKind.TASK, sorted({task.name for _, task, _ in looks}))
    for alarm, task, _ in looks:
        limit, occurrence = limits[alarm.id].at, newest.get(alarm.id)
        done_at = successes.get(task.name)
        first = EARLIEST if alarm.settings.due_by is None else limit - DAY
        if occurrence is not None and occurrence.scheduled_for <= first:
            occurrence = None
        unmade = task.next_execution is not None and task.enabled and first < task.next_execution <= limit
        if unmade or (occurrence is not None and (done_at is None or done_at < occurrence.scheduled_for)):
            nominal = occurrence.scheduled_for if occurrence is not None else task.next_nominal
            run_id = None if occurrence is None else occurrence.run_id
            about = "no run was made of its occurrence" if run_id is None else f"run {run_id} has not succeeded"
            cause = Cause(alarm, task.name, f"{thing(alarm)} is overdue: {about}", now, run_id, None, task.id, nominal)
            watch.turn(found, alarm.id, task.name).fire(cause)
        again = _next_limit(alarm, task, upcoming.get(alarm.id), now)
        if again is not None:
            found.timers[alarm.id, TimerKind.LOOK, 0] = max(again, now + SOONEST)


def _limit(alarm: Alarm, task: TimedTask, due_at: datetime, now: datetime) -> datetime:
    """Return the time until which occurrences of a task have to be done by now."""
    if alarm.settings.due_by is None:
        return now - timedelta(seconds=alarm.settings.after or 0.0)
    is_wall_time = next_wall_time(alarm.settings.due_by, _zone(task), due_at - timedelta(microseconds=1)) == due_at
    return due_at if is_wall_time else EARLIEST + DAY


def _next_limit(alarm: Alarm, task: TimedTask, upcoming: Occurrence | None, now: datetime) -> datetime | None:
    """Return the time of the next look at an overdue alarm; None = its task has no occurrence left."""
    if alarm.settings.due_by is not None:
        return next_wall_time(alarm.settings.due_by, _zone(task), now)
    after = timedelta(seconds=alarm.settings.after or 0.0)
    times = [upcoming.scheduled_for + after] if upcoming is not None else []
    if task.next_execution is not None and task.enabled:
        times.append(task.next_execution + after if task.next_execution + after > now else now + STILL_LATE)
    return min(times, default=None)


def _zone(task: TimedTask) -> ZoneInfo:
    try:
        return find_zone(task.timezone) or _UTC
    except ScheduleError:
        # A zone that this machine does not know: the task is set aside by the dispatcher, which says so.
        return _UTC
