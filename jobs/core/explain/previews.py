"""In words: why a task does or does not run now, and the outcomes of runs if they were enqueued now. Pure rules."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from ..base.errors import UserError
from ..base.times import time_text
from ..model import Run, SkippedOccurrence, Task
from ..occurrences import effective_overlap, jitter_offset
from ..states import RunState
from .facts import Ahead, Explanation, RunFacts, TaskFacts, all_stalled, moment, no_job, span
from .facts import ExplanationCode as Code
from .runs import explain_run, loops_blocked


@dataclass(slots=True)
class _Details:
    """Collects further sentences."""

    found: list[str] = field(default_factory=list[str])

    def add(self, condition: object, sentence: str) -> None:
        if condition:
            self.found.append(sentence)


def explain_task(task: Task, facts: TaskFacts, now: datetime) -> Explanation:
    """Explain why ``task`` is or is not running now, and its next step."""
    details = tuple(_task_details(task, facts, now))
    return (
        _unfinished(facts, now, details)
        or _paused(task, details)
        or _finished(task, details)
        or _put_off(task, details)
        or no_job(task.spec.job_name, task.spec.group, facts, details, "its occurrences are skipped")
        or _next(task, facts, now, details)
    )


def _unfinished(facts: TaskFacts, now: datetime, details: tuple[str, ...]) -> Explanation | None:
    if not facts.unfinished:
        return None
    running = next((run for run in facts.unfinished if run.state is RunState.RUNNING), None)
    first = running or facts.unfinished[0]
    others = len(facts.unfinished) - 1
    more = f", and {others} more of its runs {'is' if others == 1 else 'are'} unfinished" if others else ""
    if running is not None and running.started_at is not None:
        since = moment(running.started_at)
        sentence = f"It is running: run {running.id} on node {running.node} since {since}{more}."
        return Explanation(Code.RUNNING, sentence, details, run_id=running.id)
    if first.state is RunState.STUCK and first.available_at >= now:
        sentence = f"Run {first.id} failed and is tried again after {moment(first.available_at)}{more}."
        return Explanation(Code.RETRYING, sentence, details, until=first.available_at, run_id=first.id)
    return _queued(first, facts.waits, now, more, details)


_TAKES_ITS_TURN = frozenset({Code.SCHEDULED, Code.NEXT, Code.IN_LINE})
"""Reasons of a run that only waits for other runs before it."""


def _queued(run: Run, facts: RunFacts | None, now: datetime, more: str, details: tuple[str, ...]) -> Explanation:
    """Return why the run waits that the task waits for: the same things block both."""
    sentence = f"Run {run.id} is in the queue and has not started{more}."
    if facts is None:
        return Explanation(Code.QUEUED, sentence, details, run_id=run.id)
    why = explain_run(run, facts, now)
    code = Code.QUEUED if why.code in _TAKES_ITS_TURN else why.code
    return Explanation(code, f"{sentence} {why.sentence}", (*why.details, *details), why.until, run.id)


def _paused(task: Task, details: tuple[str, ...]) -> Explanation | None:
    if not task.paused:
        return None
    who = f" by {task.paused_by}" if task.paused_by else ""
    since = f" since {moment(task.paused_at)}" if task.paused_at else ""
    why = f": {task.pause_reason}" if task.pause_reason else ""
    return Explanation(
        Code.PAUSED,
        f"It is paused{who}{since}{why}. Its occurrences are recorded as skipped until {_resumed(task.resume_at)}.",
        details,
        until=task.resume_at,
    )


def _resumed(at: datetime | None) -> str:
    return "it is resumed" if at is None else f"the pause ends by itself at {moment(at)}"


def _put_off(task: Task, details: tuple[str, ...]) -> Explanation | None:
    """Say why the task was put off; the stored reason is past once the task has moved on."""
    until = task.next_execution
    if task.put_off is None or until is None or task.put_off["until"] != time_text(until):
        return None
    sentence = f"No run could be made when it was due: {task.put_off['reason']}. It is tried again at {moment(until)}."
    return Explanation(Code.PUT_OFF, sentence, details, until=until)


def _finished(task: Task, details: tuple[str, ...]) -> Explanation | None:
    if not task.finished:
        return None
    if task.spec.end_at is not None:
        sentence = f"It has no occurrence left: its window ended at {moment(task.spec.end_at)}."
        return Explanation(Code.WINDOW_ENDED, sentence, details)
    return Explanation(
        Code.FINISHED, "It has no occurrence left: its schedule has nothing after its last one.", details
    )


def _next(task: Task, facts: TaskFacts, now: datetime, details: tuple[str, ...]) -> Explanation:
    due = task.next_execution
    if due is None:
        return Explanation(Code.FINISHED, "It has no occurrence left.", details)
    if due <= now:
        nobody = loops_blocked(facts, now) or all_stalled(facts)
        if nobody is not None:
            return replace(nobody, details=(*nobody.details, *details))
        late = span((now - due).total_seconds())
        sentence = f"It has been due since {moment(due)} ({late}) and is about to be dispatched by a live node."
        return Explanation(Code.DUE, sentence, details)
    wait = span((due - now).total_seconds())
    if task.spec.start_at is not None and task.spec.start_at > now:
        begin = moment(task.spec.start_at)
        sentence = f"Its window begins at {begin}; it runs for the first time in {wait}, at {moment(due)}."
        return Explanation(Code.NOT_STARTED, sentence, details, until=due)
    return Explanation(Code.WAITING, f"It waits for its next time, {moment(due)}, in {wait}.", details, until=due)


def _task_details(task: Task, facts: TaskFacts, now: datetime) -> list[str]:
    details = _Details()
    details.add(
        facts.unfinished and not task.finished,
        {
            "skip": "An occurrence that comes due meanwhile is skipped (overlap SKIP).",
            "queue": "Occurrences that come due meanwhile queue up, at most ten (overlap QUEUE).",
            "allow": "Occurrences that come due meanwhile start at the same time (overlap ALLOW).",
            "replace": "An occurrence that comes due meanwhile cancels it (overlap REPLACE).",
        }[effective_overlap(task.spec).value],
    )
    details.add(facts.unfinished and task.paused, "It is paused; unfinished runs still run to their end.")
    skip = facts.newest_skip
    if skip is not None:
        times = f"{skip.count} times, last " if skip.count > 1 else ""
        details.add(True, f"Skipped most recently: {times}{moment(skip.last_scheduled_for)}, {_reason(skip)}.")
    offset = jitter_offset(task.id, task.spec.jitter)
    details.add(offset, f"Its jitter delays every occurrence by {offset.total_seconds():.1f} s.")
    if task.next_nominal is not None and facts.unfinished and task.next_nominal > now:
        details.add(True, f"Its next time is {moment(task.next_nominal)}.")
    details.add(task.checkpoint is not None, "Its next run proceeds from the last checkpoint.")
    details.add(facts.abandoned, "No live node declares it in its code any more, so it can be deleted.")
    details.add(task.overridden, "An operator overrode the schedule that the code declares; a reset restores it.")
    return details.found


_REASONS = {
    "overlap": "because an earlier run was unfinished",
    "tolerance": "because it would have started too soon after the last start",
    "missed": "because the task was late by more than the misfire grace",
    "coalesced": "because a newer missed occurrence ran in its place",
    "paused": "because the task was paused",
    "window": "because it lay outside the time in which the task runs",
    "no_job": "because no node knew its job",
}


def _reason(skip: SkippedOccurrence) -> str:
    return _REASONS[skip.reason.value]


class PreviewOutcome(StrEnum):
    """Name the outcome that a requested run would have.

    ``ENQUEUED``: it waits in the queue. ``DEDUPLICATED``: another run holds its unique key and is answered.
    ``RENEWED``: the same, and that run, which still waits, gets its arguments. ``DROPPED``: the queue is full, and it
    is skipped at once. ``REFUSED``: the queue is full, or the overlap policy of its task is against it; nothing at all
    is enqueued.
    """

    ENQUEUED = "enqueued"
    DEDUPLICATED = "deduplicated"
    RENEWED = "renewed"
    DROPPED = "dropped"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class RunPreview:
    """Predict the outcome of one requested run.

    Attributes:
        outcome: In a word.
        sentence: In words.
        group: Its group; None = it was refused before that was decided.
        stands_for_id: The run that would be answered in its place.
        explanation: The reason for which the run, or the one in its place, would wait; None = there would be no run
            that waits.
    """

    outcome: PreviewOutcome
    job_name: str
    sentence: str
    group: str | None = None
    stands_for_id: int | None = None
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """Predict the outcomes of an enqueue.

    Attributes:
        runs: The first of the runs that are asked for.
        counts: How many of all of them would end how.
        dropped: The ids of stored runs that would be skipped to make room, in ascending order.
    """

    runs: tuple[RunPreview, ...]
    counts: Mapping[PreviewOutcome, int]
    dropped: tuple[int, ...] = ()

    @property
    def sentence(self) -> str:
        """The whole in words: ``2 runs would be enqueued, 1 would be dropped; 1 run that waits would be skipped``."""
        counted = [_counted(self.counts[one], words) for one, words in _WOULD.items() if self.counts.get(one)]
        count = len(self.dropped)
        waiting = f"{_runs(count)} that {'waits' if count == 1 else 'wait'}"
        gone = f"; {waiting} would be skipped to make room" if count else ""
        return f"{', '.join(counted) or 'Nothing would be enqueued'}{gone}."


_WOULD = {
    PreviewOutcome.ENQUEUED: "would be enqueued",
    PreviewOutcome.DEDUPLICATED: "would be answered by the run that holds the unique key",
    PreviewOutcome.RENEWED: "would give the arguments to the run that waits with the unique key",
    PreviewOutcome.DROPPED: "would be skipped at once: the queue is full",
    PreviewOutcome.REFUSED: "would be refused",
}


def _runs(count: int) -> str:
    return f"{count:,} run{'' if count == 1 else 's'}"


def _counted(count: int, words: str) -> str:
    return f"{_runs(count)} {words}"


@dataclass(frozen=True, slots=True)
class Tried:
    """A run as it was after it had been enqueued for trial.

    Attributes:
        run: The new run, or that which stands for it.
        deduplicated: Whether another one stands for it.
        renewed: Whether that one got its arguments.
    """

    run: Run
    deduplicated: bool = False
    renewed: bool = False


def refused(job_names: Sequence[str], error: UserError, shown: int) -> Preview:
    """Return the preview of an enqueue of which all is refused."""
    runs = tuple(RunPreview(PreviewOutcome.REFUSED, name, _sentence(error.message)) for name in job_names[:shown])
    return Preview(runs, {PreviewOutcome.REFUSED: len(job_names)})


def outcome_of(tried: Tried) -> PreviewOutcome:
    """Return the predicted outcome of a run."""
    if tried.renewed:
        return PreviewOutcome.RENEWED
    if tried.deduplicated:
        return PreviewOutcome.DEDUPLICATED
    return PreviewOutcome.DROPPED if tried.run.state is RunState.SKIPPED else PreviewOutcome.ENQUEUED


def previews(
    tried: Sequence[Tried],
    facts: Mapping[int, RunFacts],
    waiting: Mapping[tuple[str, str], int],
    now: datetime,
) -> tuple[RunPreview, ...]:
    """Return the predicted outcomes of these runs, which are enqueued in this order.

    Args:
        facts: Further facts about each that is unfinished, by its id.
        waiting: How many other runs wait for a token of a bucket, by job and rate key.
    """
    groups, keys, buckets = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    made: list[RunPreview] = []
    for one in tried:
        run, is_new = one.run, outcome_of(one) is PreviewOutcome.ENQUEUED
        known = facts.get(run.id)
        if known is not None and is_new:
            bucket = (run.job_name, run.rate_key or "")
            tokens = 0 if run.rate_key is None else buckets[bucket] + waiting.get(bucket, 0)
            known = replace(known, before=Ahead(groups[run.group], keys[run.concurrency_key or ""], tokens))
        made.append(_preview(one, known, now))
        if is_new and run.available_at <= now:
            groups[run.group] += 1
            keys[run.concurrency_key or ""] += 1
            buckets[run.job_name, run.rate_key or ""] += 1
    return tuple(made)


def _preview(tried: Tried, facts: RunFacts | None, now: datetime) -> RunPreview:
    run, outcome = tried.run, outcome_of(tried)
    explanation = None if facts is None or outcome is PreviewOutcome.DROPPED else explain_run(run, facts, now)
    stands_for = run.id if tried.deduplicated else None
    return RunPreview(outcome, run.job_name, _sentence_of(tried, outcome, now), run.group, stands_for, explanation)


def _sentence_of(tried: Tried, outcome: PreviewOutcome, now: datetime) -> str:
    run = tried.run
    at = f" for {moment(run.available_at)}" if run.available_at > now else ""
    match outcome:
        case PreviewOutcome.ENQUEUED:
            return f"A run of job '{run.job_name}' would be enqueued{at}."
        case PreviewOutcome.DEDUPLICATED:
            return (
                f"Nothing would be enqueued: run {run.id}, which is {run.state.value}, holds the unique key "
                f"'{run.unique_key}' and would be answered."
            )
        case PreviewOutcome.RENEWED:
            return (
                f"Run {run.id}, which waits with the unique key '{run.unique_key}', would get the new arguments"
                f"{' and start after' + at.removeprefix(' for') if at else ''}."
            )
        case _:
            return f"It would be skipped at once: {_sentence(run.error or 'the queue is full')}"


def _sentence(text: str) -> str:
    return f"{text.rstrip('.')}."
