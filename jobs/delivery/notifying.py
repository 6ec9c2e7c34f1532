"""Store the consequences of events and timers: firings, and one delivery for each channel, in one transaction."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from ..core.alarms import Condition, FailureMark, SubjectKind, wish
from ..core.base.times import counted, time_text
from ..core.events import Change, Cursor, Event, EventKind
from ..core.explain.previews import explain_task
from ..core.model import Json, Task
from ..store.db.transaction import Tx
from ..store.statements.facts import of_tasks
from ..store.statements.figures import failures
from ..store.statements.flows import by_ids
from ..store.statements.nodes import live
from ..store.statements.tasks import by_names, newest_skipped
from . import looking, read, write
from .read import Error, Place
from .rules import Alarm, DeliveryEvent, Firing, Route, TimerKind, notice
from .watching import Cause, Findings, Key, Watchlist, subject_of, thing

MOST_IN_ONE: Final = 500
"""Firings in one message."""
EXPLAINED: Final = 20
"""Firings of a page whose tasks are explained."""
P95_FOR: Final = timedelta(hours=1)
"""Time for which the p95 of a thing is remembered."""


@dataclass(slots=True)
class Reader:
    """The reader of one node: its state between two pages.

    Attributes:
        watch: The alarms; None = they have to be read again.
        place: The place as it is stored.
        percentiles: The p95 of things, each with the time until which it is remembered.
        next_timer: The time of the next timer; None = there is none.
    """

    node_id: int
    watch: Watchlist
    place: Place
    percentiles: dict[tuple[SubjectKind, str], tuple[float | None, datetime]]
    next_timer: datetime | None = None


class Judged(NamedTuple):
    """The consequences of due timers and of events, the new firings among them, and whether more timers are due."""

    found: Findings
    opened: dict[Key, int | None]
    has_more: bool


def judge(tx: Tx, reader: Reader, events: Sequence[Event], after: Cursor) -> Judged | None:
    """Judge due timers, then events; store the consequences and the new place; None if the reader is out of date."""
    if not write.advance(tx.conn, reader.node_id, reader.place.cursor, reader.place.version, after):
        return None
    is_due = reader.next_timer is not None and reader.next_timer <= tx.now
    due = read.due_timers(tx.conn, tx.now) if is_due else []
    found = looking.judge_timers(tx.conn, reader.watch, due, tx.now)
    reader.watch.judge(events, found)
    return Judged(found, _store(tx, reader, found), len(due) >= read.MOST_TIMERS)


def _store(tx: Tx, reader: Reader, found: Findings) -> dict[Key, int | None]:
    _look_at_flows(tx, reader.watch, found)
    _look_at_records(tx, reader.watch, found)
    _look_at_errors(tx, reader.watch, found)
    _watch_executions(tx, reader, found)
    write.put_timers(tx.conn, [(*key, due_at) for key, due_at in found.timers.items() if due_at is not None])
    write.delete_timers(tx.conn, [key for key, due_at in found.timers.items() if due_at is None])
    if found.timers:
        reader.next_timer = read.next_timer(tx.conn)
    if found.streaks:
        write.set_streaks(tx.conn, found.streaks)
    old = [key for key, turn in found.turns.items() if turn.closes_old]
    resolved = write.resolve_firings(tx.conn, old, tx.now) if old else []
    causes = [turn.cause for turn in found.turns.values() if turn.cause is not None]
    firing = _conditions(reader.watch, (alarm_id for alarm_id, _ in reader.watch.open)) | _conditions(
        reader.watch, (alarm_id for (alarm_id, _), turn in found.turns.items() if turn.cause is not None)
    )
    quiet = _quiet(tx, [(one.alarm, one.subject) for one in causes], firing) if causes else set[Key]()
    fired = write.insert_firings(tx.conn, new_rows(tx, causes, quiet)) if causes else []
    notify(tx, reader.watch.alarms, DeliveryEvent.RESOLVED, resolved)
    notify(tx, reader.watch.alarms, DeliveryEvent.FIRED, fired)
    closed = [key for key, turn in found.turns.items() if turn.cause is not None and turn.closed]
    if closed:
        ended = write.resolve_firings(tx.conn, closed, tx.now)
        notify(tx, reader.watch.alarms, DeliveryEvent.RESOLVED, ended)
    _end_silences(tx, reader, found)
    if any(one.condition in CAUSES for one in resolved):
        release(tx)
    return {(one.alarm_id, one.subject): one.execution_id or one.flow_id for one in fired}


CAUSES: Final = frozenset({Condition.DATABASE, Condition.NODE})
"""Conditions that are the causes of others, which notify nobody meanwhile."""
_OF_OCCURRENCES: Final = frozenset({Condition.LATE, Condition.OVERDUE})


def _conditions(watch: Watchlist, ids: Iterable[int]) -> set[Condition]:
    return {watch.alarms[one].condition for one in ids if one in watch.alarms}


def _quiet(tx: Tx, wanted: Sequence[tuple[Alarm, str]], firing: Collection[Condition]) -> set[Key]:
    """Return the firings of which nobody is notified, because an alarm about their cause is firing.

    While the database needs attention, that is all others. While a node is lost, it is the tasks that no node can run.
    """
    if Condition.DATABASE in firing:
        return {(alarm.id, subject) for alarm, subject in wanted if alarm.condition is not Condition.DATABASE}
    about = [(alarm, subject) for alarm, subject in wanted if alarm.condition in _OF_OCCURRENCES]
    if Condition.NODE not in firing or not about:
        return set()
    specs = {name: task.spec for name, task in by_names(tx.conn, sorted({subject for _, subject in about})).items()}
    nodes = live(tx.conn)
    stranded = {name for name, spec in specs.items() if not any(n.takes(spec.job_name, spec.group) for n in nodes)}
    return {(alarm.id, subject) for alarm, subject in about if subject in stranded}


def release(tx: Tx) -> None:
    """Look again at open firings that notified nobody, because the alarm about their cause is over."""
    alarms = read.alarms_by_ids(tx.conn, {one.alarm_id for one in read.unnotified(tx.conn)})
    loud = [alarm.id for alarm in alarms.values() if not alarm.is_silenced(tx.now)]
    write.put_timers(tx.conn, [(one, TimerKind.SILENCE, 0, tx.now) for one in loud])


def _look_at_flows(tx: Tx, watch: Watchlist, found: Findings) -> None:
    """Judge changes of flows in order; their events lack the names of the flows."""
    ids = {change.flow_id for change, _ in found.flows if change.flow_id is not None}
    known = by_ids(tx.conn, sorted(ids)) if ids else {}
    for change, at in found.flows:
        flow = known.get(change.flow_id or 0)
        if flow is not None:
            watch.judge_flow(found, flow.name, change, at)


def _look_at_records(tx: Tx, watch: Watchlist, found: Findings) -> None:
    """Judge the records of executions that succeeded, in their order."""
    if not found.successes:
        return
    known = read.watched(tx.conn, found.successes)
    for execution_id, looks in found.successes.items():
        execution = known.get(execution_id)
        for alarm, change, at in looks if execution is not None else ():
            records = (execution.records if execution is not None else None) or 0
            if records >= (alarm.settings.least_records or 1):
                watch.resolve(found, alarm, subject_of(alarm))
                continue
            sentence = f"{thing(alarm)} succeeded with {counted(records, 'record')} in execution {execution_id}"
            cause = Cause(alarm, subject_of(alarm), sentence, at, change.run_id, execution_id, change.task_id)
            watch.turn(found, alarm.id, subject_of(alarm)).fire(cause)


def _look_at_errors(tx: Tx, watch: Watchlist, found: Findings) -> None:
    """Judge whether the errors of executions are new to their jobs, in their order; a newer one follows an open one."""
    if not found.failures:
        return
    first = min(found.failures)
    errors = read.errors(tx.conn, found.failures)
    longest = max(alarm.settings.quiet or 0.0 for looks in found.failures.values() for alarm, *_ in looks)
    since = tx.now - timedelta(seconds=longest)
    marks = failures.marks(tx.conn, {error.fingerprint for error in errors.values()})
    is_past = _past(tx, marks)
    jobs = {error.job_name for error in errors.values()}
    known = {job: read.recent_errors(tx.conn, job, first, since, is_past) for job in jobs}
    for execution_id in sorted(errors):
        error = errors[execution_id]
        mark = marks.get(error.fingerprint)
        if is_past(error) or (mark is not None and mark.is_silenced(tx.now)):
            continue
        last = known[error.job_name].get(error.fingerprint)
        for alarm, change, at in found.failures[execution_id]:
            if last is not None and (at - last).total_seconds() <= (alarm.settings.quiet or 0.0):
                continue
            message = error.message.partition("\n")[0][:200]
            sentence = f"{thing(alarm)} has a new error in execution {execution_id}: {error.error_type}: {message}"
            turn = watch.turn(found, alarm.id, subject_of(alarm))
            turn.resolve()
            turn.fire(Cause(alarm, subject_of(alarm), sentence, at, change.run_id, execution_id, change.task_id))
        known[error.job_name][error.fingerprint] = error.at


def _past(tx: Tx, marks: Mapping[str, FailureMark]) -> Callable[[Error], bool]:
    """Return a test for errors that count as solved and do not disprove it."""
    solved = {name: mark for name, mark in marks.items() if mark.solved_at is not None}
    known: dict[int, Mapping[str, str]] = {}

    def is_past(error: Error) -> bool:
        mark = solved.get(error.fingerprint) if solved else None
        if mark is None:
            return False
        if error.node_id not in known:
            known[error.node_id] = failures.signatures(tx.conn, [error.node_id]).get(error.node_id, {})
        return not mark.comes_back(error.started_at, known[error.node_id].get(error.job_name))

    return is_past


def _watch_executions(tx: Tx, reader: Reader, found: Findings) -> None:
    """Set a timer for each execution that began and may take too long."""
    for (alarm_id, execution_id), (alarm, at) in found.started.items():
        limit = alarm.settings.after
        if alarm.settings.times_p95 is not None:
            usual = _p95(tx, reader, alarm)
            limit = None if usual is None else alarm.settings.times_p95 * usual
        if limit is not None:
            found.timers[alarm_id, TimerKind.RUNNING, execution_id] = at + timedelta(seconds=limit)


def _p95(tx: Tx, reader: Reader, alarm: Alarm) -> float | None:
    about = (alarm.subject_kind, subject_of(alarm))
    known = reader.percentiles.get(about)
    if known is None or known[1] <= tx.now:
        known = reader.percentiles[about] = (read.p95(tx.conn, *about), tx.now + P95_FOR)
    return known[0]


def new_rows(tx: Tx, causes: Sequence[Cause], quiet: Collection[Key] = ()) -> list[dict[str, Any]]:
    """Return the rows of new firings, with the facts that receivers need; nobody is notified of the quiet ones."""
    tasks = by_names(tx.conn, sorted({one.subject for one in causes if one.alarm.subject_kind is SubjectKind.TASK}))
    explained = [tasks[one.subject] for one in causes if one.subject in tasks][:EXPLAINED]
    facts = of_tasks(tx.conn, explained, tx.now) if explained else {}
    sentences = {task.name: explain_task(task, facts[task.id], tx.now).sentence for task in explained}
    skips = sorted({one.task_id for one in causes if one.is_skipped and one.task_id is not None})
    skipped = newest_skipped(tx.conn, skips)
    successes = {
        kind: read.last_successes(tx.conn, kind, {one.subject for one in causes if one.alarm.subject_kind is kind})
        for kind in (SubjectKind.TASK, SubjectKind.JOB, SubjectKind.FLOW)
    }
    halted = {one.subject for one in causes if one.alarm.condition is Condition.WEBHOOK}
    reasons = read.stop_messages(tx.conn, halted) if halted else {}
    routes = {name: route for name, one in read.channels(tx.conn).items() if (route := Route.of(one.settings))}
    rows: list[dict[str, Any]] = []
    for one in causes:
        alarm, skip = one.alarm, skipped.get(one.task_id or 0) if one.is_skipped else None
        rows.append(
            {
                "alarm_id": alarm.id,
                "alarm_name": alarm.name,
                "condition": alarm.condition.value,
                "severity": alarm.severity.value,
                "subject_kind": alarm.subject_kind.value,
                "subject": one.subject,
                "run_id": one.run_id,
                "execution_id": one.execution_id,
                "flow_id": one.flow_id,
                "scheduled_for": one.scheduled_for if skip is None else skip.last_scheduled_for,
                "sentence": f"{one.sentence}: {reasons[one.subject]}" if one.subject in reasons else one.sentence,
                "explanation": sentences.get(one.subject) if alarm.subject_kind is SubjectKind.TASK else None,
                "policy": _policy(alarm, tasks.get(one.subject)),
                "channels": _channels(alarm, one.subject, tasks.get(one.subject), routes),
                "last_success_at": successes.get(alarm.subject_kind, {}).get(one.subject),
                "fired_at": tx.now,
                "notified": not alarm.is_silenced(tx.now) and (alarm.id, one.subject) not in quiet,
            }
        )
    return rows


def _channels(alarm: Alarm, subject: str, task: Task | None, routes: Mapping[str, Route]) -> list[str]:
    """Return the channels that an alarm names, and those whose routes take it."""
    is_task = alarm.subject_kind is SubjectKind.TASK and task is not None
    labels = task.spec.labels or {} if is_task and task is not None else {}
    group = task.spec.group if is_task and task is not None else None
    group = subject if alarm.subject_kind is SubjectKind.GROUP else group
    routed = [name for name, route in routes.items() if route.takes(alarm.severity, group, labels)]
    return list(dict.fromkeys([*alarm.channels, *routed]))


def _policy(alarm: Alarm, task: Task | None) -> dict[str, Json]:
    """Return the values that decided, the condition in words among them."""
    values: dict[str, Json] = {"condition": wish(alarm), **alarm.settings.to_json()}
    if task is None or alarm.subject_kind is not SubjectKind.TASK:
        return values
    schedule = task.spec.schedule
    return {
        **values,
        "schedule": f"{schedule.syntax.value} '{schedule.value}' in {schedule.timezone}",
        "retries": task.spec.retries,
        "timeout": task.spec.timeout,
        "misfire": task.spec.misfire.value,
    }


def _end_silences(tx: Tx, reader: Reader, found: Findings) -> None:
    """Notify of firings that are still open as the silence of their alarm ends."""
    over = [one for one in found.ended_silences if not _is_silenced(reader.watch.alarms.get(one), tx.now)]
    if over:
        known = [reader.watch.alarms[one] for one in over if one in reader.watch.alarms]
        silenced = [alarm for alarm in known if alarm.silenced_until is not None]
        tx.emit(Change(EventKind.ALARM_UPDATED, alarm=alarm.name) for alarm in silenced)
        firing = _conditions(reader.watch, (alarm_id for alarm_id, _ in reader.watch.open))
        waiting = [one for one in read.unnotified(tx.conn, over) if one.alarm_id in reader.watch.alarms]
        quiet = _quiet(tx, [(reader.watch.alarms[one.alarm_id], one.subject) for one in waiting], firing)
        waiting = [one for one in waiting if (one.alarm_id, one.subject) not in quiet]
        write.mark_notified(tx.conn, [one.id for one in waiting])
        notify(tx, reader.watch.alarms, DeliveryEvent.FIRED, waiting, even_if_quiet=True)


def _is_silenced(alarm: Alarm | None, now: datetime) -> bool:
    return alarm is not None and alarm.is_silenced(now)


def notify(
    tx: Tx,
    alarms: Mapping[int, Alarm],
    event: DeliveryEvent,
    firings: Iterable[Firing],
    *,
    even_if_quiet: bool = False,
) -> None:
    """Publish these firings, and record one message for each channel; alarms that are silenced notify no channel.

    ``even_if_quiet``: they were published before, while their alarms were silenced.
    """
    firings = list(firings)
    if not even_if_quiet:
        kind = EventKind.ALARM_FIRED if event is DeliveryEvent.FIRED else EventKind.ALARM_RESOLVED
        tx.emit(change_of(kind, one) for one in firings)
    by_channel: dict[str, list[Firing]] = defaultdict(list)
    for firing in firings:
        alarm = alarms.get(firing.alarm_id)
        if alarm is not None and (firing.notified or even_if_quiet):
            for channel in firing.channels:
                by_channel[channel].append(firing)
    for channel, about in by_channel.items():
        for first in range(0, len(about), MOST_IN_ONE):
            part = about[first : first + MOST_IN_ONE]
            payload = payload_of(event, [notice(one) for one in part], tx.now)
            write.insert_delivery(tx.conn, channel, event, payload, tx.now, firings=[one.id for one in part])
    if by_channel:
        write.announce(tx)


def change_of(kind: EventKind, firing: Firing) -> Change:
    """Return the event of a firing."""
    names = {
        SubjectKind.TASK: "task_name",
        SubjectKind.JOB: "job_name",
        SubjectKind.GROUP: "group",
        SubjectKind.NODE: "node",
    }
    about: dict[str, Any] = {names[firing.subject_kind]: firing.subject} if firing.subject_kind in names else {}
    about |= {"run_id": firing.run_id, "flow_id": firing.flow_id}
    return Change(kind, alarm=firing.alarm_name, firing_id=firing.id, **about)


def payload_of(event: DeliveryEvent, notices: Sequence[dict[str, Json]], now: datetime) -> dict[str, Json]:
    """Return the body of a message as webhooks get it."""
    data = {"count": len(notices), "alarms": list(notices)}
    return {"type": f"alarm.{event.value}", "timestamp": time_text(now), "data": data}
