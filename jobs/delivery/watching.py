"""Judge events by the alarms that concern them: in memory, by a look-up for each event and not for each alarm."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from ..core.alarms import Condition, SubjectKind, seconds_text
from ..core.base.times import counted
from ..core.events import Change, Event, EventKind
from ..core.flows import FlowState
from ..core.nodes import NodeState
from ..core.states import RunState
from .rules import LOOK_AGAIN, MISSED, Alarm, TimerKind

Key: TypeAlias = tuple[int, str]
"""An alarm, and the name of the thing that it fires about."""
TimerKey: TypeAlias = tuple[int, TimerKind, int]
"""An alarm, the purpose of its timer, and the execution or flow that the timer is about, or 0."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The reason of a firing.

    Attributes:
        alarm: The alarm that fires.
        subject: The thing it fires about.
        sentence: The reason in words.
        at: The time when it happened.
        is_skipped: Whether an occurrence was skipped; its time is in the newest skipped row of the task.
    """

    alarm: Alarm
    subject: str
    sentence: str
    at: datetime
    run_id: int | None = None
    execution_id: int | None = None
    task_id: int | None = None
    scheduled_for: datetime | None = None
    is_skipped: bool = False
    flow_id: int | None = None


@dataclass(slots=True)
class Turn:
    """Follow one firing through a page of events: close the old one, open a new one, close that.

    Attributes:
        was_open: Whether it is open as the page begins.
        old: The execution or flow that it is about then.
        closes_old: Whether the page resolves that one.
        cause: The reason of a new firing, if there is one.
        closed: Whether the new one is resolved, too.
    """

    was_open: bool
    old: int | None = None
    closes_old: bool = False
    cause: Cause | None = None
    closed: bool = False

    @property
    def about(self) -> int | None:
        """Return the execution or flow of the firing that is open at this place of the page."""
        if self.was_open and not self.closes_old:
            return self.old
        return None if self.cause is None or self.closed else self.cause.execution_id or self.cause.flow_id

    @property
    def is_taken(self) -> bool:
        """Return whether the firing is open at this place of the page."""
        return (self.was_open and not self.closes_old) or (self.cause is not None and not self.closed)

    def fire(self, cause: Cause) -> None:
        """Open a firing unless one is open; several openings in one page are one, about the last of them."""
        if not self.is_taken:
            self.cause, self.closed = cause, False

    def resolve(self) -> None:
        """Close the open firing, if there is one."""
        if self.was_open and not self.closes_old:
            self.closes_old = True
        elif self.cause is not None:
            self.closed = True


@dataclass(slots=True)
class Findings:
    """Collect the consequences of a page of events or of due timers.

    Attributes:
        turns: Firings that open or close.
        streaks: New numbers of failed runs in a row, by the id of the alarm.
        started: Executions and flows to watch, by alarm and id, with the times of their starts.
        successes: Executions whose records are to be looked at, by id.
        failures: Executions whose errors are to be looked at, by id.
        timers: Timers to set, or to delete (None).
        ended_silences: Alarms whose silence is over, by id.
        flows: Changes of flows, whose names are to be looked up.
    """

    turns: dict[Key, Turn] = field(default_factory=dict[Key, Turn])
    streaks: dict[int, int] = field(default_factory=dict[int, int])
    started: dict[tuple[int, int], tuple[Alarm, datetime]] = field(
        default_factory=dict[tuple[int, int], tuple[Alarm, datetime]]
    )
    successes: dict[int, list[tuple[Alarm, Change, datetime]]] = field(
        default_factory=dict[int, list[tuple[Alarm, Change, datetime]]]
    )
    failures: dict[int, list[tuple[Alarm, Change, datetime]]] = field(
        default_factory=dict[int, list[tuple[Alarm, Change, datetime]]]
    )
    timers: dict[TimerKey, datetime | None] = field(default_factory=dict[TimerKey, datetime | None])
    ended_silences: set[int] = field(default_factory=set[int])
    flows: list[tuple[Change, datetime]] = field(default_factory=list[tuple[Change, datetime]])

    def __bool__(self) -> bool:
        # Each of them is empty, or there is something to store.
        return any(getattr(self, name) for name in self.__slots__)


_Judge: TypeAlias = Callable[[Findings, Alarm, Change, datetime], None]
_Watched: TypeAlias = dict[tuple[str, str | None], tuple[Alarm, ...]]
"""Alarms by the kind and the name of their subject."""
_NODE_GONE: Final = frozenset({NodeState.EXPIRED.value, NodeState.STALLED.value})
_NODE_WELL: Final = frozenset({NodeState.ACTIVE.value, NodeState.STARTING.value, NodeState.STOPPED.value})
_SUCCESS: Final = RunState.SUCCESS.value
_OVER: Final = frozenset({_SUCCESS, RunState.FAILED.value})
"""Ends of runs and of flows that count; a cancellation is neither a success nor a failure."""
_HALTED: Final = frozenset({"parked", "stopped"})
"""States of webhooks that send nothing until somebody resumes them."""
_NO_ALARMS: Final[tuple[Alarm, ...]] = ()


class Watchlist:
    """The enabled alarms by subject, with the open firings of each.

    Args:
        open: The executions or flows of open firings, by alarm and thing; None = it is about none.
    """

    def __init__(self, alarms: Iterable[Alarm], open: Mapping[Key, int | None]) -> None:  # noqa: A002 - the word
        self.alarms = {alarm.id: alarm for alarm in alarms if alarm.enabled}
        self.open = dict(open)
        self.streaks = {alarm.id: alarm.streak for alarm in self.alarms.values()}
        self.armed: set[int] = set()
        # What was before them has been read: times decide no longer, for the clock may have been set back since.
        self.settled: set[int] = set()
        of_condition: dict[Condition, list[Alarm]] = {}
        for alarm in self.alarms.values():
            of_condition.setdefault(alarm.condition, []).append(alarm)
        # Events of most kinds concern nobody: they are passed over by their kind alone.
        self._judges: dict[EventKind, tuple[_Judge, _Watched]] = {}
        for kinds, judge, conditions in self._all_judges():
            watched = _by_subject(alarm for one in conditions for alarm in of_condition.get(one, ()))
            self._judges |= dict.fromkeys(kinds, (judge, watched)) if watched else {}
        self._flows = _by_subject(one for one in self.alarms.values() if one.subject_kind is SubjectKind.FLOW)

    def _all_judges(self) -> Iterator[tuple[Collection[EventKind], _Judge, Collection[Condition]]]:
        """Yield the judge of some kinds of events, and the conditions for which it is needed."""
        kind, of = EventKind, Condition
        yield {kind.EXECUTION_STARTED}, self._on_started, (of.LATE, of.SLOW)
        yield {kind.EXECUTION_FINISHED}, self._on_finished, (of.SLOW, of.EMPTY, of.NEW_ERROR)
        yield {kind.RUN_UPDATED}, self._on_run, (of.OVERDUE, of.FAILING, of.NEW_ERROR)
        yield {kind.RUN_CREATED}, self._on_created, (of.BACKLOG,)
        yield {kind.OCCURRENCE_SKIPPED}, self._on_skipped, (of.LATE,)
        yield {kind.TASK_CREATED, kind.TASK_UPDATED, kind.TASK_DELETED}, self._on_task, (of.LATE, of.OVERDUE)
        yield {kind.NODE_STARTED, kind.NODE_UPDATED, kind.NODE_STOPPED}, self._on_node, (of.NODE,)
        yield {kind.WEBHOOK_UPDATED}, self._on_webhook, (of.WEBHOOK,)

    def concerns(self, events: Iterable[Event]) -> bool:
        """Return whether events have any consequence."""
        found = Findings()
        self.judge(events, found)
        return bool(found)

    def judge(self, events: Iterable[Event], found: Findings) -> None:
        """Add the consequences of events, in their order."""
        for event in events:
            change = event.change
            watched = self._judges.get(change.kind)
            if watched is not None:
                judge, known = watched
                for alarm in _concerned(known, change):
                    judge(found, alarm, change, event.at)
            elif self._flows and change.kind in _OF_FLOWS:
                found.flows.append((change, event.at))

    def turn(self, found: Findings, alarm_id: int, subject: str) -> Turn:
        """Return the turn of a firing in these findings."""
        key = (alarm_id, subject)
        turn = found.turns.get(key)
        if turn is None:
            turn = found.turns[key] = Turn(key in self.open, self.open.get(key))
        return turn

    def resolve(self, found: Findings, alarm: Alarm, subject: str) -> None:
        """Close a firing if it is open, or opened on this page."""
        key = (alarm.id, subject)
        if key in self.open or key in found.turns:
            self.turn(found, *key).resolve()

    def keep(self, found: Findings, opened: Mapping[Key, int | None]) -> None:
        """Take over the findings once they are stored; ``opened`` has the new firings."""
        for key, turn in found.turns.items():
            if turn.closes_old:
                self.open.pop(key, None)
            if turn.cause is not None and not turn.closed and key in opened:
                self.open[key] = opened[key]
        self.streaks.update(found.streaks)
        for (alarm_id, kind, _), due_at in found.timers.items():
            if kind is TimerKind.LOOK:
                self.armed.discard(alarm_id) if due_at is None else self.armed.add(alarm_id)

    def _counts(self, alarm: Alarm, at: datetime) -> bool:
        """Return whether an event happened after the alarm was made."""
        return alarm.id in self.settled or at >= alarm.created_at

    def _on_started(self, found: Findings, alarm: Alarm, change: Change, at: datetime) -> None:
        if alarm.condition is Condition.LATE:
            self.resolve(found, alarm, subject_of(alarm))
        elif change.execution_id is not None and self._counts(alarm, at):
            found.started[alarm.id, change.execution_id] = (alarm, at)

    def _on_finished(self, found: Findings, alarm: Alarm, change: Change, at: datetime) -> None:
        execution_id, is_success = change.execution_id, change.state == _SUCCESS
        if execution_id is None:
            return
        if alarm.condition is Condition.SLOW:
            self._end_watch(found, alarm, Cause(alarm, "", "", at, change.run_id, execution_id, change.task_id))
        elif (alarm.condition is Condition.EMPTY) is is_success and self._counts(alarm, at):
            looks = found.successes if is_success else found.failures
            looks.setdefault(execution_id, []).append((alarm, change, at))

    def _end_watch(self, found: Findings, alarm: Alarm, end: Cause) -> None:
        """Judge the end of an execution or of a flow; ``end`` has its time and its ids."""
        about = end.flow_id or end.execution_id or 0
        began = found.started.pop((alarm.id, about), None)
        if began is None:
            found.timers[alarm.id, TimerKind.RUNNING, about] = None
        elif alarm.settings.after is not None and end.at - began[1] > timedelta(seconds=alarm.settings.after):
            # Both were read at once: nobody read them in time.
            took = seconds_text((end.at - began[1]).total_seconds())
            sentence = f"{thing(alarm)} took {took} in {run_of(alarm, about)}"
            turn = self.turn(found, alarm.id, subject_of(alarm))
            turn.fire(replace(end, subject=subject_of(alarm), sentence=sentence))
            turn.resolve()
        key = (alarm.id, subject_of(alarm))
        if (key in self.open or key in found.turns) and self.turn(found, *key).about == about:
            self.turn(found, *key).resolve()

    def judge_flow(self, found: Findings, name: str, change: Change, at: datetime) -> None:
        """Judge a change of a flow by the alarms of its name."""
        for alarm in self._flows.get((SubjectKind.FLOW.value, name), _NO_ALARMS):
            if alarm.condition is Condition.FAILING and change.state in _OVER:
                self._count(found, alarm, change, at)
            elif alarm.condition is Condition.SLOW and change.state != FlowState.RUNNING.value:
                self._end_watch(found, alarm, Cause(alarm, "", "", at, flow_id=change.flow_id or 0))
            elif alarm.condition is Condition.SLOW and self._counts(alarm, at):
                found.started[alarm.id, change.flow_id or 0] = (alarm, at)

    def _on_webhook(self, found: Findings, alarm: Alarm, change: Change, at: datetime) -> None:
        webhook = change.webhook or ""
        if change.state in _HALTED and self._counts(alarm, at):
            word = "is parked" if change.state == "parked" else "is switched off"
            self.turn(found, alarm.id, webhook).fire(Cause(alarm, webhook, f"Webhook '{webhook}' {word}", at))
        elif change.state not in _HALTED:
            self.resolve(found, alarm, webhook)

    def _on_run(self, found: Findings, alarm: Alarm, change: Change, at: datetime) -> None:
        if change.state in _OVER:
            if alarm.condition is Condition.FAILING:
                self._count(found, alarm, change, at)
            elif change.state == _SUCCESS:
                self.resolve(found, alarm, subject_of(alarm))

    def _count(self, found: Findings, alarm: Alarm, change: Change, at: datetime) -> None:
        if not self._counts(alarm, at):
            return
        streak = found.streaks.get(alarm.id, self.streaks[alarm.id])
        if alarm.settings.failed_share is not None:
            self._count_share(found, alarm, change, at, streak)
            return
        if change.state == _SUCCESS:
            if streak:
                found.streaks[alarm.id] = 0
            self.resolve(found, alarm, subject_of(alarm))
            return
        found.streaks[alarm.id] = streak + 1
        if streak + 1 >= (alarm.settings.failed_runs or 1):
            self._fail(found, alarm, change, at, f"failed {counted(streak + 1, 'time')} in a row")

    def _count_share(self, found: Findings, alarm: Alarm, change: Change, at: datetime, before: int) -> None:
        """Judge the outcomes of the last runs, the bits of a number behind a leading 1."""
        runs, failed = alarm.settings.of_runs or 0, change.state != _SUCCESS
        outcomes = (max(before, 1) << 1) | failed
        if outcomes.bit_length() > runs + 1:
            outcomes = (outcomes & ((1 << runs) - 1)) | (1 << runs)
        found.streaks[alarm.id] = outcomes
        failures = outcomes.bit_count() - 1
        if outcomes.bit_length() <= runs or failures < (alarm.settings.failed_share or 1) * runs:
            self.resolve(found, alarm, subject_of(alarm))
        elif failed:
            self._fail(found, alarm, change, at, f"failed in {failures} of its last {runs} runs")

    def _fail(self, found: Findings, alarm: Alarm, change: Change, at: datetime, way: str) -> None:
        last = run_of(alarm, change.flow_id or 0) if change.run_id is None else f"run {change.run_id}"
        flow_id = change.flow_id if change.run_id is None else None
        sentence = f"{thing(alarm)} {way}, last in {last}"
        ids = (change.run_id, None, change.task_id)
        cause = Cause(alarm, subject_of(alarm), sentence, at, *ids, flow_id=flow_id)
        self.turn(found, alarm.id, subject_of(alarm)).fire(cause)

    def _on_skipped(self, found: Findings, alarm: Alarm, change: Change, at: datetime) -> None:
        if change.state in MISSED and self._counts(alarm, at):
            sentence = f"{thing(alarm)} missed an occurrence: it was skipped ({change.state})"
            cause = Cause(alarm, subject_of(alarm), sentence, at, change.run_id, None, change.task_id)
            self.turn(found, alarm.id, subject_of(alarm)).fire(replace(cause, is_skipped=True))

    def _on_created(self, found: Findings, alarm: Alarm, _change: Change, at: datetime) -> None:
        key = (alarm.id, TimerKind.LOOK, 0)
        if found.timers.get(key) is None and (key in found.timers or alarm.id not in self.armed):
            patience = timedelta(seconds=alarm.settings.older_than or LOOK_AGAIN.total_seconds())
            found.timers[key] = at + min(patience, LOOK_AGAIN)

    def _on_task(self, found: Findings, alarm: Alarm, change: Change, at: datetime) -> None:
        found.timers[alarm.id, TimerKind.LOOK, 0] = at
        if change.kind is EventKind.TASK_DELETED:
            self.resolve(found, alarm, subject_of(alarm))

    def _on_node(self, found: Findings, alarm: Alarm, change: Change, at: datetime) -> None:
        node = change.node or ""
        if change.state in _NODE_GONE and self._counts(alarm, at):
            lost = change.state == NodeState.EXPIRED.value
            word = "is lost: its lease has run out" if lost else "is silent: it makes no progress"
            self.turn(found, alarm.id, node).fire(Cause(alarm, node, f"Node '{node}' {word}", at))
        elif change.state in _NODE_WELL:
            self.resolve(found, alarm, node)


_OF_FLOWS: Final = frozenset({EventKind.FLOW_CREATED, EventKind.FLOW_UPDATED})


def _by_subject(alarms: Iterable[Alarm]) -> _Watched:
    found: _Watched = {}
    for alarm in alarms:
        about = (alarm.subject_kind.value, subject_of(alarm))
        found[about] = (*found.get(about, _NO_ALARMS), alarm)
    return found


def _concerned(known: _Watched, change: Change) -> tuple[Alarm, ...]:
    """Return the alarms that a change concerns, by a look-up of each thing that it names."""
    if change.job_name is not None or change.task_name is not None:
        return (
            known.get(("task", change.task_name), _NO_ALARMS)
            + known.get(("job", change.job_name), _NO_ALARMS)
            + known.get(("group", change.group), _NO_ALARMS)
        )
    kind, name = ("node", change.node) if change.webhook is None else ("webhook", change.webhook)
    return known.get((kind, name), _NO_ALARMS) + known.get((kind, ""), _NO_ALARMS)


def subject_of(alarm: Alarm) -> str:
    """Return the name of the thing that an alarm fires about, unless it is about every one."""
    return alarm.subject or ""


def thing(alarm: Alarm) -> str:
    """Return the subject of an alarm as a sentence begins with it."""
    return f"{alarm.subject_kind.value.capitalize()} '{alarm.subject}'"


def run_of(alarm: Alarm, about: int) -> str:
    """Return the words for the execution, or of a flow the flow, that an alarm fires about."""
    return f"{'flow' if alarm.subject_kind is SubjectKind.FLOW else 'execution'} {about}"
