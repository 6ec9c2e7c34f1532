"""In words: why a task is or is not running now, why a run still waits, and what happens next.

An operator reads these at night, so each sentence names the thing in the way and what would change it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from .model import Blockage, Group, Run, SkippedOccurrence, Task
from .policies import effective_overlap, jitter_offset
from .states import FINAL, RunState

COUNTED_AHEAD = 1_000
"""Runs that were due before another are counted up to here."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """An answer to "why?".

    Attributes:
        code: Stable UPPER_CASE word for programs and colours.
        sentence: The answer.
        details: Further sentences, most important first.
        until: When this changes by time alone; None = not by time.
        run_id: The run that is in the way or that the answer is about.
    """

    code: str
    sentence: str
    details: tuple[str, ...] = ()
    until: datetime | None = None
    run_id: int | None = None


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """What is known beside the task itself.

    Attributes:
        job_known: Whether any node has ever published the job (and it was not forgotten).
        nodes: The live nodes that can run it.
        unfinished: The task's unfinished runs, oldest first.
        waits: What is known about the first of them, unless one of them is running.
        newest_skip: Its newest skipped stretch.
    """

    job_known: bool
    nodes: tuple[str, ...]
    unfinished: tuple[Run, ...] = ()
    waits: "RunFacts | None" = None
    newest_skip: SkippedOccurrence | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known beside the run itself.

    Attributes:
        job_known: Whether any node has published the job.
        isolation: Where the job runs (``async``, ``thread``, ``process``); None if unknown.
        nodes: The live nodes that can run it and take new work.
        group: The settings of its group.
        group_occupied: How many runs of its group are scheduled or running.
        blocked_by: The scheduled or running run of the same task that must end first.
        ahead: How many runs of its group and priority were due before it; counted up to ``COUNTED_AHEAD``.
        slots: The slots together of those ``nodes`` whose event loop turns.
        free_slots: How many of these are free.
        other_version: Further live nodes that know the job, but leave this run to ``nodes``: its arguments were checked
            against another version of the job than theirs.
        blockages: What keeps the event loops of live nodes from turning, by the node's name.
    """

    job_known: bool
    isolation: str | None
    nodes: tuple[str, ...]
    group: Group
    group_occupied: int = 0
    blocked_by: int | None = None
    ahead: int = 0
    slots: int = 0
    free_slots: int = 0
    other_version: tuple[str, ...] = ()
    blockages: Mapping[str, Blockage] = field(default_factory=dict[str, Blockage])


@dataclass(slots=True)
class _Details:
    """Collects further sentences."""

    found: list[str] = field(default_factory=list[str])

    def add(self, condition: object, sentence: str) -> None:
        if condition:
            self.found.append(sentence)


def moment(instant: datetime) -> str:
    """A time in a sentence: ``2026-03-01 12:00:05 UTC``."""
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC"


def span(seconds: float) -> str:
    """A length of time in a sentence: ``3 s``, ``5 min``, ``2 h 10 min``, ``4 d 3 h``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, hours, days = whole // 60 % 60, whole // 3600 % 24, whole // 86400
    if days:
        return f"{days} d {hours} h" if hours else f"{days} d"
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min"


def explain_task(task: Task, facts: TaskFacts, now: datetime) -> Explanation:
    """Why ``task`` is or is not running now, and what happens next."""
    details = tuple(_task_details(task, facts, now))
    return (
        _unfinished(facts, now, details)
        or _paused(task, details)
        or _finished(task, details)
        or _no_job(task.spec.job_name, facts.job_known, facts.nodes, details, "its occurrences are skipped")
        or _next(task, now, details)
    )


def _unfinished(facts: TaskFacts, now: datetime, details: tuple[str, ...]) -> Explanation | None:
    if not facts.unfinished:
        return None
    running = next((run for run in facts.unfinished if run.state is RunState.RUNNING), None)
    first = running or facts.unfinished[0]
    others = len(facts.unfinished) - 1
    more = f", and {others} more of its runs {'is' if others == 1 else 'are'} unfinished" if others else ""
    if running is not None and running.started_at is not None:
        elapsed = span((now - running.started_at).total_seconds())
        sentence = f"It is running: run {running.id} on node {running.node_name} since {elapsed}{more}."
        return Explanation("RUNNING", sentence, details, run_id=running.id)
    if first.state is RunState.STUCK and first.available_at >= now:
        sentence = f"Run {first.id} failed and is tried again after {moment(first.available_at)}{more}."
        return Explanation("RETRYING", sentence, details, until=first.available_at, run_id=first.id)
    return _queued(first, facts.waits, now, more, details)


_TAKES_ITS_TURN = frozenset({"SCHEDULED", "NEXT", "IN_LINE"})
"""Why a run has not started although nothing but other runs is in its way."""


def _queued(run: Run, facts: RunFacts | None, now: datetime, more: str, details: tuple[str, ...]) -> Explanation:
    """The task waits for a run that waits: what is in the way of the one is in the way of the other."""
    sentence = f"Run {run.id} is in the queue and has not started{more}."
    if facts is None:
        return Explanation("QUEUED", sentence, details, run_id=run.id)
    why = explain_run(run, facts, now)
    code = "QUEUED" if why.code in _TAKES_ITS_TURN else why.code
    return Explanation(code, f"{sentence} {why.sentence}", (*why.details, *details), why.until, run.id)


def _paused(task: Task, details: tuple[str, ...]) -> Explanation | None:
    if not task.paused:
        return None
    who = f" by {task.paused_by}" if task.paused_by else ""
    since = f" since {moment(task.paused_at)}" if task.paused_at else ""
    why = f": {task.paused_reason}" if task.paused_reason else ""
    return Explanation(
        "PAUSED",
        f"It is paused{who}{since}{why}. Its occurrences are recorded as skipped until it is resumed.",
        details,
    )


def _finished(task: Task, details: tuple[str, ...]) -> Explanation | None:
    if not task.finished:
        return None
    if task.spec.end_at is not None:
        sentence = f"It has no occurrence left: its window ended at {moment(task.spec.end_at)}."
        return Explanation("WINDOW_ENDED", sentence, details)
    return Explanation("FINISHED", "It has no occurrence left: its schedule has nothing after its last one.", details)


def _no_job(
    job_name: str, known: bool, nodes: Sequence[str], details: tuple[str, ...], consequence: str
) -> Explanation | None:
    if not known:
        sentence = f"No node knows the job '{job_name}', so {consequence}. Start a node whose code has it."
        return Explanation("NO_JOB", sentence, details)
    if not nodes:
        sentence = f"No live node can run the job '{job_name}' now. Start one; what is due then follows its policies."
        return Explanation("NO_NODE", sentence, details)
    return None


def _next(task: Task, now: datetime, details: tuple[str, ...]) -> Explanation:
    due = task.next_run_at
    if due is None:
        return Explanation("FINISHED", "It has no occurrence left.", details)
    if due <= now:
        late = span((now - due).total_seconds())
        sentence = f"It has been due since {moment(due)} ({late}) and is about to be dispatched by a live node."
        return Explanation("DUE", sentence, details)
    wait = span((due - now).total_seconds())
    if task.spec.start_at is not None and task.spec.start_at > now:
        begin = moment(task.spec.start_at)
        sentence = f"Its window begins at {begin}; it runs for the first time in {wait}, at {moment(due)}."
        return Explanation("NOT_STARTED", sentence, details, until=due)
    return Explanation("WAITING", f"It waits for its next time, {moment(due)}, in {wait}.", details, until=due)


def _task_details(task: Task, facts: TaskFacts, now: datetime) -> list[str]:
    details = _Details()
    details.add(
        facts.unfinished and not task.finished,
        {
            "skip": "An occurrence that comes due meanwhile is skipped (overlap SKIP).",
            "queue": "Occurrences that come due meanwhile queue up, at most ten (overlap QUEUE).",
            "allow": "Occurrences that come due meanwhile start beside it (overlap ALLOW).",
            "replace": "An occurrence that comes due meanwhile cancels it (overlap REPLACE).",
        }[effective_overlap(task.spec).value],
    )
    details.add(facts.unfinished and task.paused, "It is paused; what is unfinished still runs to its end.")
    skip = facts.newest_skip
    if skip is not None:
        times = f"{skip.count} times, last " if skip.count > 1 else ""
        details.add(True, f"Skipped most recently: {times}{moment(skip.last_scheduled_for)}, {_reason(skip)}.")
    offset = jitter_offset(task.id, task.spec.jitter)
    details.add(offset, f"Its jitter delays every occurrence by {offset.total_seconds():.1f} s.")
    if task.next_occurrence_at is not None and facts.unfinished and task.next_occurrence_at > now:
        details.add(True, f"Its next time is {moment(task.next_occurrence_at)}.")
    details.add(task.checkpoint is not None, "Its next run proceeds from the last checkpoint.")
    details.add(task.overridden, "An operator overrode the schedule that the code declares; resetTask restores it.")
    return details.found


_REASONS = {
    "overlap": "because an earlier run was unfinished",
    "tolerance": "because it would have started too soon after the last start",
    "missed": "because the task was late by more than the misfire grace",
    "coalesced": "because a newer missed occurrence ran in its place",
    "paused": "because the task was paused",
    "window": "because it lay outside startAt and endAt",
    "no_job": "because no node knew its job",
}


def _reason(skip: SkippedOccurrence) -> str:
    return _REASONS[skip.reason.value]


def explain_run(run: Run, facts: RunFacts, now: datetime) -> Explanation:
    """Why ``run`` is in its state, why it has not started yet, and what happens next."""
    if run.state in FINAL:
        return _final(run)
    if run.state is RunState.RUNNING:
        return _running(run, facts, now)
    if run.state is RunState.SCHEDULED:
        sentence = f"It is handed to node {run.node_name} and starts as soon as that node has a free slot."
        return Explanation("SCHEDULED", sentence)
    return _waiting(run, facts, now)


def _final(run: Run) -> Explanation:
    ended = f" at {moment(run.finished_at)}" if run.finished_at else ""
    because = f": {run.error.rstrip('.')}" if run.error else ""
    match run.state:
        case RunState.SUCCESS:
            tries = f" in attempt {run.attempt}" if run.attempt > 1 else ""
            return Explanation("SUCCESS", f"It ended successfully{tries}{ended}.")
        case RunState.FAILED:
            count = f"after {run.attempt} attempts" if run.attempt != 1 else "in its only attempt"
            return Explanation("FAILED", f"It failed for good {count}{ended}{because}.", ("Retry it with retryRun.",))
        case RunState.CANCELLED:
            return Explanation("CANCELLED", f"It was cancelled{ended}{_cancelled_because(run)}.")
        case _:
            return Explanation("SKIPPED", f"It was dropped before its start{ended}{because}.")


def _cancelled_because(run: Run) -> str:
    """Who cancelled it and why, and how its job then ended, as far as that is known."""
    known = dict.fromkeys(text.rstrip(".") for text in (run.cancel_reason, run.error) if text)
    return f": {'; '.join(known)}" if known else ""


def _running(run: Run, facts: RunFacts, now: datetime) -> Explanation:
    started = run.started_at or now
    elapsed = span((now - started).total_seconds())
    where = f"on node {run.node_name}, attempt {run.attempt}, since {elapsed}"
    deadline = None if run.timeout is None else started + timedelta(seconds=run.timeout)
    stopping = run.cancel_requested_at is not None or (deadline is not None and deadline < now)
    if stopping and facts.isolation == "thread":
        why = "was asked to cancel" if run.cancel_requested_at else f"passed its deadline {moment(deadline or now)}"
        sentence = (
            f"It {why}, but it runs in a thread, which cannot be killed; it ends when the job looks at should_stop."
        )
        return Explanation("CANNOT_STOP", sentence, (f"It runs {where}.",))
    if run.cancel_requested_at is not None:
        reason = f" ({run.cancel_reason})" if run.cancel_reason else ""
        return Explanation("CANCELLING", f"It was asked to stop{reason} and is stopped hard after a grace.", (where,))
    if deadline is not None and deadline < now:
        return Explanation("TIMING_OUT", f"It passed its deadline {moment(deadline)} and is being stopped.", (where,))
    limit = f"; its time box ends at {moment(deadline)}" if deadline else ""
    blockage = facts.blockages.get(run.node_name or "")
    if blockage is not None:
        return _on_blocked_node(run, facts, blockage, now, f"It runs {where}{limit}.")
    return Explanation("RUNNING", f"It runs {where}{limit}.", until=deadline)


def _on_blocked_node(run: Run, facts: RunFacts, blockage: Blockage, now: datetime, where: str) -> Explanation:
    if blockage.run_id == run.id:
        sentence = (
            f"Its code has kept the event loop of node {run.node_name} from turning for "
            f"{span((now - blockage.since).total_seconds())}: the other async jobs there stand still, and nothing new "
            "starts. Write the job as a plain function, which gets a thread of its own, or let it await now and then."
        )
        return Explanation("BLOCKS_LOOP", sentence, (*_places(blockage), where), run_id=run.id)
    who = f"{_blocker(blockage, now)} on node {run.node_name}"
    if facts.isolation == "async":
        return Explanation("LOOP_BLOCKED", f"It stands still: {who}.", (where,), run_id=blockage.run_id)
    return Explanation("RUNNING", where, (f"Its end is stored once the event loop turns: {who}.",))


def _blocker(blockage: Blockage, now: datetime) -> str:
    known = f"run {blockage.run_id} (job '{blockage.job_name}')" if blockage.run_id is not None else "something"
    return f"{known} has kept the event loop from turning for {span((now - blockage.since).total_seconds())}"


def _places(blockage: Blockage) -> tuple[str, ...]:
    return (f"It was at {blockage.stack[-1]}.",) if blockage.stack else ()


def _loops_blocked(facts: RunFacts, now: datetime) -> Explanation | None:
    """Of those nodes that can take a run, none has an event loop that turns."""
    blockages = [(name, facts.blockages[name]) for name in facts.nodes if name in facts.blockages]
    if not blockages or len(blockages) < len(facts.nodes):
        return None
    name, blockage = blockages[0]
    sentence = f"No node that can run it starts anything: on node {name}, {_blocker(blockage, now)}."
    details = tuple(f"On node {other}, {_blocker(one, now)}." for other, one in blockages[1:])
    return Explanation("LOOP_BLOCKED", sentence, details, run_id=blockage.run_id)


def _waiting(run: Run, facts: RunFacts, now: datetime) -> Explanation:
    due = run.available_at < now if run.state is RunState.STUCK else run.available_at <= now
    no_job = _no_job(run.job_name, facts.job_known, facts.nodes, (), "this run waits")
    if not due:
        later = _not_due(run, now)
        # What will be in its way when its time has come should be known before.
        return later if no_job is None else replace(later, sentence=f"{later.sentence} {no_job.sentence}")
    return no_job or _group(run, facts) or _blocked(facts) or _loops_blocked(facts, now) or _in_line(facts)


def _not_due(run: Run, now: datetime) -> Explanation:
    wait = span((run.available_at - now).total_seconds())
    at = moment(run.available_at)
    if run.state is RunState.STUCK:
        left = max(0, run.retries - run.failures + 1)
        details = (f"It failed with: {run.error}." if run.error else "It failed.", f"It may fail {left} more times.")
        sentence = (
            f"Attempt {run.attempt} failed; it is tried again after {at}, in {wait}, or at once by hand (retry now)."
        )
        return Explanation("RETRY_LATER", sentence, details, until=run.available_at)
    if run.attempt:
        sentence = f"The job asked to be tried again at {at}, in {wait} (snoozed)."
        return Explanation("SNOOZED", sentence, until=run.available_at)
    return Explanation("NOT_YET", f"It was enqueued for {at}, in {wait}.", until=run.available_at)


def _group(run: Run, facts: RunFacts) -> Explanation | None:
    group = facts.group
    if group.paused_at is not None:
        who = f" by {group.paused_by}" if group.paused_by else ""
        why = f": {group.pause_reason}" if group.pause_reason else ""
        sentence = (
            f"Its group '{run.group}' is paused{who} since {moment(group.paused_at)}{why}; "
            "it waits until the group is resumed."
        )
        return Explanation("GROUP_PAUSED", sentence)
    if group.max_running is not None and facts.group_occupied >= group.max_running:
        sentence = (
            f"Its group '{run.group}' may have {group.max_running} running at once, and has {facts.group_occupied} now."
        )
        return Explanation("GROUP_LIMIT", sentence)
    return None


def _blocked(facts: RunFacts) -> Explanation | None:
    if facts.blocked_by is None:
        return None
    sentence = f"Run {facts.blocked_by} of the same task must end first; a task's runs start one after another."
    return Explanation("BLOCKED", sentence, run_id=facts.blocked_by)


def _due_before(ahead: int) -> str:
    if ahead == 1:
        return "1 run of its group and priority was due before it"
    count = f"{ahead:,} or more" if ahead >= COUNTED_AHEAD else f"{ahead or 'no'}"
    return f"{count} runs of its group and priority were due before it"


def _in_line(facts: RunFacts) -> Explanation:
    details: tuple[str, ...] = ()
    if facts.other_version:
        able, others = ", ".join(facts.nodes), ", ".join(facts.other_version)
        details = (f"Only {able} can take it: {others} has another version of the job, which takes other arguments.",)
    return replace(_place_in_line(facts), details=details)


def _place_in_line(facts: RunFacts) -> Explanation:
    if facts.free_slots <= 0:
        what = "The only slot" if facts.slots == 1 else f"All {facts.slots} slots"
        turning = [name for name in facts.nodes if name not in facts.blockages]
        where = f"node {turning[0]}" if len(turning) == 1 else f"the {len(turning)} nodes that can run it"
        taken = f"{what} of {where} {'is' if facts.slots == 1 else 'are'} taken"
        return Explanation("NO_SLOT", f"{taken}, and {_due_before(facts.ahead)}.")
    if facts.ahead:
        free = f"{facts.free_slots} slot{'s are' if facts.free_slots != 1 else ' is'} free"
        return Explanation("IN_LINE", f"{_due_before(facts.ahead)}; {free}.")
    return Explanation("NEXT", "It is due and next in line; a node is about to take it.")
