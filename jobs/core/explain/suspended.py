"""In words: the awaited things of a suspended run."""

from datetime import datetime

from ..base.signature import UnreadBy
from ..model import Run
from ..waits import AwaitedKind, Awaits
from .facts import AwaitedRun, Explanation, RunFacts, moment, span
from .facts import ExplanationCode as Code


def explain_suspended(run: Run, facts: RunFacts, now: datetime) -> Explanation:
    """Return the thing that wakes a suspended run, and the time that does."""
    assert run.awaits is not None, "the table has it for every suspended run"
    awaits = Awaits.from_json(run.awaits)
    at_latest = "" if run.wake_at is None else f", at the latest until {_until(run.wake_at, now)}"
    if awaits.others:
        return _for_several(awaits, facts.awaited, now, run.wake_at)
    match awaits.kind:
        case AwaitedKind.TIME:
            assert run.wake_at is not None, "nothing else ends a sleep"
            sentence = f"It sleeps{_named(awaits)} until {_until(run.wake_at, now)}. It holds no slot meanwhile."
            return Explanation(Code.SLEEPING, sentence, until=run.wake_at)
        case AwaitedKind.SIGNAL:
            sentence = f"It waits for the signal '{awaits.name}'{at_latest}. It holds no slot meanwhile."
            return Explanation(
                Code.WAITS_FOR_SIGNAL, sentence, ("Somebody, or a program, has to send it.",), until=run.wake_at
            )
        case AwaitedKind.FLOW:
            what = "the runs of its flow that it comes after"
            details = tuple(map(_described, facts.awaited))
            first = facts.awaited[0].id if facts.awaited else None
            return Explanation(Code.WAITS_FOR_RUNS, f"It waits for {what} to end.", details, None, first)
        case AwaitedKind.VERSION:
            return _for_version(run, facts, now)
        case AwaitedKind.RUNS:
            return _for_runs(awaits, facts.awaited, at_latest, run.wake_at)


def _for_version(run: Run, facts: RunFacts, now: datetime) -> Explanation:
    assert run.unread_by is not None, "the end that made it wait has stored it"
    assert run.wake_at is not None, "the wait is limited"
    by = UnreadBy.from_json(run.unread_by)
    wanted = "another version of its job" if by.checked is None else f"version {by.checked} of its job"
    sentence = (
        f"No version of the job '{run.job_name}' that has tried can read its arguments. It waits for a node with "
        f"{wanted}, until {_until(run.wake_at, now)}; then it fails."
    )
    count = len(by.versions)
    tried = f"Tried by version{'s' if count > 1 else ''} {' and '.join(by.versions)}, the last on node {by.node}."
    live = f"Live nodes with the job: {', '.join(sorted((*facts.nodes, *facts.other_version))) or 'none'}."
    return Explanation(Code.WAITS_FOR_VERSION, sentence, (f"{by.reason}.", tried, live), until=run.wake_at)


def _for_several(
    awaits: Awaits, unfinished: tuple[AwaitedRun, ...], now: datetime, until: datetime | None
) -> Explanation:
    """Name all that a run waits for at the same time."""
    waits = (awaits, *awaits.others)
    by_time = "" if until is None else f" Time wakes it at {_until(until, now)}."
    sentence = f"It waits for whichever of {len(waits) + awaits.more} comes first.{by_time} It holds no slot meanwhile."
    details = [_one_of_several(one, now) for one in waits]
    if awaits.more:
        details.append(f"And {awaits.more:,} more.")
    if any(one.kind is AwaitedKind.SIGNAL for one in waits):
        details.append("Somebody, or a program, has to send a signal.")
    details += [_described(one) for one in unfinished]
    first = unfinished[0].id if unfinished else None
    return Explanation(_CODES[awaits.kind], sentence, tuple(details), until, first)


def _one_of_several(awaits: Awaits, now: datetime) -> str:
    until = "" if awaits.until is None else f" until {_until(awaits.until, now)}"
    match awaits.kind:
        case AwaitedKind.TIME:
            return f"It sleeps{_named(awaits)}{until}."
        case AwaitedKind.SIGNAL:
            return f"It waits for the signal '{awaits.name}'{until}."
        case AwaitedKind.RUNS | AwaitedKind.FLOW | AwaitedKind.VERSION:
            what = f"run {awaits.runs[0]}" if awaits.count == 1 else f"{awaits.count:,} runs"
            return f"It waits{_named(awaits)} for {what} to end{until}."


_CODES = {
    AwaitedKind.TIME: Code.SLEEPING,
    AwaitedKind.SIGNAL: Code.WAITS_FOR_SIGNAL,
    AwaitedKind.RUNS: Code.WAITS_FOR_RUNS,
    AwaitedKind.FLOW: Code.WAITS_FOR_RUNS,
    AwaitedKind.VERSION: Code.WAITS_FOR_VERSION,
}


def _described(one: AwaitedRun) -> str:
    return f"Run {one.id} of job '{one.job_name}' is {one.state.value}."


def _until(instant: datetime, now: datetime) -> str:
    return f"{moment(instant)}, in {span((instant - now).total_seconds())}"


def _named(awaits: Awaits) -> str:
    return "" if awaits.name is None else f" ('{awaits.name}')"


def _for_runs(
    awaits: Awaits, unfinished: tuple[AwaitedRun, ...], at_latest: str, until: datetime | None
) -> Explanation:
    first = unfinished[0] if unfinished else None
    what = f"run {awaits.runs[0]}" if awaits.count == 1 else f"{awaits.count:,} runs"
    sentence = f"It waits{_named(awaits)} for {what} to end{at_latest}. It holds no slot meanwhile."
    details = tuple(map(_described, unfinished))
    return Explanation(Code.WAITS_FOR_RUNS, sentence, details, until, None if first is None else first.id)
