"""In words: the outcomes of runs if they were enqueued now, and the reasons for which each would wait. Pure rules."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from ..base.errors import UserError
from ..model import Run
from ..states import RunState
from .facts import Ahead, Explanation, RunFacts, moment
from .runs import explain_run


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
