"""In words: why a run is in its state, why it has not started yet, and its next step."""

from dataclasses import replace
from datetime import datetime, timedelta

from ..admission.caps import Bucket, Cap, Line, WhenFull
from ..base.signature import UnreadBy
from ..base.times import counted
from ..defaults import Keeping, Retained
from ..limits import task_of_key
from ..model import Isolation, Run
from ..nodes import Blockage
from ..outcome import attempt_deadline
from ..remote import RemoteAttempt
from ..states import FINAL, RunState
from ..waits import AwaitedKind, Awaits
from .facts import (
    COUNTED_AHEAD,
    AwaitedRun,
    Explanation,
    RunFacts,
    TaskFacts,
    all_stalled,
    brief_span,
    moment,
    no_job,
    span,
)
from .facts import ExplanationCode as Code


def explain_run(run: Run, facts: RunFacts, now: datetime) -> Explanation:
    """Explain the state of ``run``, why it has not started yet, and its next step."""
    if run.state in FINAL:
        ended = _with_lost(run, _final(run))
        if facts.retention is None or run.finished_at is None:
            return ended
        return replace(ended, details=(*ended.details, *kept_until(run, run.finished_at, facts.retention)))
    standing = _unfinished(run, facts, now)
    if run.expires_at is not None and run.attempt == 0:
        standing = replace(standing, details=(*standing.details, _expiry(run.expires_at, now)))
    if facts.caps and run.attempt == 0:
        standing = replace(standing, details=(*standing.details, *(_cap(*one) for one in facts.caps)))
    if run.deadline_at is not None:
        standing = replace(standing, details=(*standing.details, _deadline(run.deadline_at, now)))
    return replace(standing, details=(*standing.details, *_earlier_attempt(facts)))


def _expiry(expires_at: datetime, now: datetime) -> str:
    """Describe when a run that has not begun is skipped."""
    left = (expires_at - now).total_seconds()
    if left <= 0:
        return f"It had to start by {moment(expires_at)}: it is about to be skipped."
    return f"Unless it starts by {moment(expires_at)}, in {span(left)}, it is skipped."


def _cap(line: Line, cap: Cap, waiting: int) -> str:
    """Describe how full the queue is in which a run waits."""
    more = {
        WhenFull.REFUSE: "more are refused",
        WhenFull.DROP_OLDEST: "of more the oldest is skipped",
        WhenFull.DROP_NEWEST: "more are skipped",
    }
    return f"{waiting:,} of {cap.limit:,} runs that {line.words} may have waiting wait now; {more[cap.when_full]}."


def _deadline(deadline_at: datetime, now: datetime) -> str:
    """Describe by when a run must have ended."""
    left = (deadline_at - now).total_seconds()
    if left <= 0:
        return f"It had to end by {moment(deadline_at)} (max_duration): it is about to be failed."
    return f"Unless it ends by {moment(deadline_at)}, in {span(left)}, it fails (max_duration)."


def _earlier_attempt(facts: RunFacts) -> tuple[str, ...]:
    """Explain that an earlier attempt may still be at work."""
    lost = facts.lost
    if lost is None:
        return ()
    if lost.left_behind:
        sentence = (
            f"Attempt {lost.attempt} could not be stopped when node {lost.node} was cut off: its code goes on there "
            "until it looks at should_stop, at the same time as this run."
        )
        return (sentence,)
    if facts.isolation is Isolation.THREAD:
        sentence = (
            f"Attempt {lost.attempt} was lost with node {lost.node}. If that process still lives, the thread of that "
            "attempt cannot be stopped and may act until it looks at should_stop."
        )
        return (sentence,)
    return ()


def _unfinished(run: Run, facts: RunFacts, now: datetime) -> Explanation:
    if run.state is RunState.RUNNING:
        return _running(run, facts, now)
    if run.state is RunState.SCHEDULED:
        sentence = f"It is handed to node {run.node} and starts as soon as that node has a free slot."
        return Explanation(Code.SCHEDULED, sentence)
    if run.state is RunState.SUSPENDED:
        return explain_suspended(run, facts, now)
    return _waiting(run, facts, now)


def _final(run: Run) -> Explanation:
    ended = f" at {moment(run.finished_at)}" if run.finished_at else ""
    because = f": {run.error.rstrip('.')}" if run.error else ""
    match run.state:
        case RunState.SUCCESS:
            tries = f" in attempt {run.attempt}" if run.attempt > 1 else ""
            return Explanation(Code.SUCCESS, f"It ended successfully{tries}{ended}.")
        case RunState.FAILED:
            count = f"after {run.attempt} attempts" if run.attempt != 1 else "in its only attempt"
            sentence = f"It failed for good {count}{ended}{because}."
            return Explanation(Code.FAILED, sentence, ("It can be tried again, as a new run.",))
        case RunState.CANCELLED:
            return Explanation(Code.CANCELLED, f"It was cancelled{ended}{_cancelled_because(run)}.")
        case _:
            return Explanation(Code.SKIPPED, f"It was dropped before its start{ended}{because}.")


def _with_lost(run: Run, ended: Explanation) -> Explanation:
    """Name the runs that were to follow the end of a run and were refused or failed."""
    if not run.lost_follow_ups:
        return ended
    lost = [
        f"{one['kind']}" + (f" (job '{one['job']}')" if one["job"] else "") + f": {one['code']}: {one['reason']}"
        for one in run.lost_follow_ups
    ]
    what = "Its follow-ups were left out." if len(lost) > 1 else "Something that was to follow was left out."
    return replace(
        ended, code=Code.FOLLOW_UP_LOST, sentence=f"{ended.sentence} {what}", details=(*lost, *ended.details)
    )


def _cancelled_because(run: Run) -> str:
    known = dict.fromkeys(text.rstrip(".") for text in (run.cancel_reason, run.error) if text)
    return f": {'; '.join(known)}" if known else ""


def _running(run: Run, facts: RunFacts, now: datetime) -> Explanation:
    started = run.started_at or now
    where = f"on node {run.node}, attempt {run.attempt}, since {moment(started)}"
    deadline = attempt_deadline(run)
    if facts.remote is not None:
        where = f"at {facts.remote.executor}, attempt {run.attempt}, looked after by node {run.node}"
        deadline = _deadline_at_engine(run, facts.remote)
    stopping = run.cancel_requested_at is not None or (deadline is not None and deadline < now)
    if stopping and facts.isolation is Isolation.THREAD:
        why = "was asked to cancel" if run.cancel_requested_at else f"passed its deadline {moment(deadline or now)}"
        sentence = (
            f"It {why}, but it runs in a thread, which cannot be killed; it ends when the job looks at should_stop."
        )
        return Explanation(Code.CANNOT_STOP, sentence, (f"It runs {where}.",))
    if run.cancel_requested_at is not None:
        reason = f" ({run.cancel_reason})" if run.cancel_reason else ""
        return Explanation(
            Code.CANCELLING, f"It was asked to stop{reason} and is stopped hard after a grace.", (where,)
        )
    if deadline is not None and deadline < now:
        return Explanation(
            Code.TIMING_OUT, f"It passed its deadline {moment(deadline)} and is being stopped.", (where,)
        )
    limit = f"; its time box ends at {moment(deadline)}" if deadline else ""
    if facts.remote is not None:
        return _at_engine(facts.remote, where, limit, deadline)
    blockage = facts.blockages.get(run.node or "")
    if blockage is not None:
        return _on_blocked_node(run, facts, blockage, now, f"It runs {where}{limit}.")
    return Explanation(Code.RUNNING, f"It runs {where}{limit}.", until=deadline)


def _deadline_at_engine(run: Run, remote: RemoteAttempt) -> datetime | None:
    """Return when the time box of an attempt at an engine ends: it counts from the start of its code."""
    box = None if run.timeout is None else remote.started_at and remote.started_at + timedelta(seconds=run.timeout)
    return min((at for at in (box, run.deadline_at) if at is not None), default=None)


def _at_engine(remote: RemoteAttempt, where: str, limit: str, deadline: datetime | None) -> Explanation:
    known = f"'{remote.handle}'" if remote.handle else f"'{remote.name}', of which no handle is known yet"
    text = f": {remote.engine_text}" if remote.engine_text else ""
    details = [f"There it is {known}; the engine says {remote.engine_state.value.upper()}{text}."]
    if remote.queue_position is not None:
        details.append(f"It is number {remote.queue_position:,} of {remote.queue_length:,} that wait there.")
    if remote.ended_at is not None:
        details.append(f"Its end came at {moment(remote.ended_at)} and is about to be stored.")
    elif remote.heard_at is not None:
        details.append(f"Its code was last heard at {moment(remote.heard_at)}.")
    if remote.started_at is None:
        sentence = f"It was handed out {where}, at {moment(remote.submitted_at)}; its code has not begun{limit}."
        return Explanation(Code.AT_ENGINE, sentence, tuple(details), until=deadline)
    sentence = f"It runs {where}, since {moment(remote.started_at)}{limit}."
    return Explanation(Code.RUNNING, sentence, tuple(details), until=deadline)


def _on_blocked_node(run: Run, facts: RunFacts, blockage: Blockage, now: datetime, where: str) -> Explanation:
    if blockage.run_id == run.id:
        sentence = (
            f"Its code has kept the event loop of node {run.node} from turning for "
            f"{span((now - blockage.since).total_seconds())}: the other async jobs there stand still, and nothing new "
            "starts. Write the job as a plain function, which gets a thread of its own, or let it await now and then."
        )
        return Explanation(Code.BLOCKS_LOOP, sentence, (*_places(blockage), where), run_id=run.id)
    who = f"{_blocker(blockage, now)} on node {run.node}"
    if facts.isolation is Isolation.ASYNC:
        return Explanation(Code.LOOP_BLOCKED, f"It stands still: {who}.", (where,), run_id=blockage.run_id)
    return Explanation(Code.RUNNING, where, (f"Its end is stored once the event loop turns: {who}.",))


def _blocker(blockage: Blockage, now: datetime) -> str:
    known = f"run {blockage.run_id} (job '{blockage.job_name}')" if blockage.run_id is not None else "something"
    return f"{known} has kept the event loop from turning for {span((now - blockage.since).total_seconds())}"


def _places(blockage: Blockage) -> tuple[str, ...]:
    return (f"It was at {blockage.stack[-1]}.",) if blockage.stack else ()


def loops_blocked(facts: RunFacts | TaskFacts, now: datetime) -> Explanation | None:
    """Explain that the event loop is blocked on all nodes that can take the run."""
    blockages = [(name, facts.blockages[name]) for name in facts.nodes if name in facts.blockages]
    if not blockages or len(blockages) < len(facts.nodes):
        return None
    name, blockage = blockages[0]
    sentence = f"No node that can run it starts anything: on node {name}, {_blocker(blockage, now)}."
    details = tuple(f"On node {other}, {_blocker(one, now)}." for other, one in blockages[1:])
    return Explanation(Code.LOOP_BLOCKED, sentence, details, run_id=blockage.run_id)


def _no_children(facts: RunFacts) -> Explanation | None:
    """Explain that no node that can take the run can start the child process that it needs."""
    faults = [(name, facts.launcher_faults[name]) for name in facts.nodes if name in facts.launcher_faults]
    if not faults or len(faults) < len(facts.nodes):
        return None
    details = [f"Node {name}: {fault}." for name, fault in faults]
    sentence = "It needs a child process, and no node that can run it can start one."
    return Explanation(Code.NO_CHILD_PROCESS, f"{sentence} {details[0]}", tuple(details[1:]))


def _waiting(run: Run, facts: RunFacts, now: datetime) -> Explanation:
    due = run.available_at < now if run.state is RunState.STUCK else run.available_at <= now
    lacking = no_job(run.job_name, run.group, facts, (), "this run waits") or _too_large(facts)
    if not due:
        later = _not_due(run, now)
        # What will be in its way when its time has come should be known before.
        return later if lacking is None else replace(later, sentence=f"{later.sentence} {lacking.sentence}")
    if lacking is not None:
        return lacking
    standing = (
        _group(run, facts, now)
        or _limited(run, facts, now)
        or _blocked(facts)
        or loops_blocked(facts, now)
        or all_stalled(facts)
    )
    return standing or _no_children(facts) or _in_line(facts)


def _not_due(run: Run, now: datetime) -> Explanation:
    wait = span((run.available_at - now).total_seconds())
    at = moment(run.available_at)
    if run.state is RunState.STUCK:
        left = max(0, run.retries - run.failures + 1)
        details = (
            f"It failed with: {run.error}." if run.error else "It failed.",
            f"It may fail {counted(left, 'more time')}.",
        )
        sentence = (
            f"Attempt {run.attempt} failed; it is tried again after {at}, in {wait}, or at once by hand (retry now)."
        )
        return Explanation(Code.RETRY_LATER, sentence, details, until=run.available_at)
    if run.error is not None:
        return Explanation(Code.PUT_OFF, f"At {at}, in {wait}, it is tried again: {run.error}.", until=run.available_at)
    if run.attempt:
        sentence = f"The job asked to be tried again at {at}, in {wait} (snoozed)."
        return Explanation(Code.SNOOZED, sentence, until=run.available_at)
    return Explanation(Code.NOT_YET, f"It was enqueued for {at}, in {wait}.", until=run.available_at)


def _group(run: Run, facts: RunFacts, now: datetime) -> Explanation | None:
    group = facts.group
    if group.paused_at is not None:
        who = f" by {group.paused_by}" if group.paused_by else ""
        why = f": {group.pause_reason}" if group.pause_reason else ""
        sentence = (
            f"Its group '{run.group}' is paused{who} since {moment(group.paused_at)}{why}; "
            f"it waits until {'the group is resumed' if group.resume_at is None else moment(group.resume_at)}."
        )
        return Explanation(Code.GROUP_PAUSED, sentence, until=group.resume_at)
    before = facts.before.group
    if group.max_running is not None and facts.group_occupied + before >= group.max_running:
        sentence = (
            f"Its group '{run.group}' may have {group.max_running} running at once, and has {facts.group_occupied} now"
            f"{_and_before(before)}."
        )
        return Explanation(Code.GROUP_LIMIT, sentence)
    if group.rate is None:
        return None
    bucket = Bucket(group.rate, group.rate_full_at).settled(now)
    return _without_token(bucket, f"its group '{run.group}'", before, now)


def _and_before(count: int) -> str:
    return f", and {count:,} new run{'s go' if count != 1 else ' goes'} before it" if count else ""


def _limited(run: Run, facts: RunFacts, now: datetime) -> Explanation | None:
    """Return the reason for which a run with a key waits."""
    before = facts.before.key
    has_place = run.concurrency_key is None or (run.keeps_place and run.attempt > 0)
    if not has_place and facts.key_running + before >= (run.max_concurrent or 1):
        having = "have begun and are unfinished" if facts.key_kept else "run now"
        sentence = (
            f"{facts.key_running} of {run.max_concurrent} runs with its concurrency key '{run.concurrency_key}' "
            f"{having}{_and_before(before)}; it starts once one of them has ended."
        )
        return Explanation(Code.KEY_LIMIT, sentence, run_id=facts.key_holder)
    if facts.bucket is None:
        return None
    if task_of_key(run.rate_key) is not None:
        whose = f"its task '{run.task_name}'"
    else:
        whose = f"its job '{run.job_name}'" + (f" for the key '{run.rate_key}'" if run.rate_key else "")
    return _without_token(facts.bucket.settled(now), whose, facts.before.tokens, now)


def _without_token(bucket: Bucket, whose: str, before: int, now: datetime) -> Explanation | None:
    """Explain that a run waits for a token; ``before`` other runs take one first."""
    left = bucket.take(before, now) if before else bucket
    if left.tokens(now) > 0:
        return None
    due = left.due(now)
    first = f"{before:,} run{'s take theirs' if before != 1 else ' takes its own'} before it, and " if before else ""
    sentence = (
        f"It waits for a token of {whose}: {first}none of {bucket.rate.words} is left until {moment(due)}, in "
        f"{brief_span((due - now).total_seconds())}."
    )
    return Explanation(Code.RATE_LIMIT, sentence, until=due)


def _blocked(facts: RunFacts) -> Explanation | None:
    if facts.blocked_by is None:
        return None
    sentence = f"Run {facts.blocked_by} of the same task must end first; a task's runs start one after another."
    return Explanation(Code.BLOCKED, sentence, run_id=facts.blocked_by)


def _due_before(ahead: int) -> str:
    if ahead == 1:
        return "1 run of its group and priority was due before it"
    count = f"{ahead:,} or more" if ahead >= COUNTED_AHEAD else f"{ahead or 'no'}"
    return f"{count} runs of its group and priority were due before it"


def _too_large(facts: RunFacts) -> Explanation | None:
    """Explain that the run takes more slots than any node that can run it has."""
    if facts.takes <= max(1, facts.largest):
        return None
    has = f"node {facts.nodes[0]} has" if len(facts.nodes) == 1 else "the largest node that can run it has"
    sentence = (
        f"A run of its job takes {facts.takes} slots of one node, and {has} {facts.largest}: it waits for a larger "
        "node."
    )
    return Explanation(Code.TOO_FEW_SLOTS, sentence, ("Start a node with more slots, or have the job take fewer.",))


def _in_line(facts: RunFacts) -> Explanation:
    details: tuple[str, ...] = ()
    if facts.other_version:
        able, others = ", ".join(facts.nodes), ", ".join(facts.other_version)
        details = (f"Only {able} can take it: {others} has another version of the job, which takes other arguments.",)
    return replace(_place_in_line(facts), details=details)


def _place_in_line(facts: RunFacts) -> Explanation:
    if facts.takes > 1 and facts.most_free < facts.takes:
        sentence = (
            f"It takes {facts.takes} slots of one node, of which {facts.most_free} "
            f"{'is' if facts.most_free == 1 else 'are'} free, and {_due_before(facts.ahead)}; for the run that is "
            "next, a node keeps the slots that become free."
        )
        return Explanation(Code.NO_SLOT, sentence)
    if facts.free_slots <= 0:
        what = "The only slot" if facts.slots == 1 else f"All {facts.slots} slots"
        standing_still = {*facts.blockages, *facts.launcher_faults, *facts.stalls}
        turning = [name for name in facts.nodes if name not in standing_still]
        where = f"node {turning[0]}" if len(turning) == 1 else f"the {len(turning)} nodes that can run it"
        taken = f"{what} of {where} {'is' if facts.slots == 1 else 'are'} taken"
        return Explanation(Code.NO_SLOT, f"{taken}, and {_due_before(facts.ahead)}.")
    if facts.ahead:
        free = f"{facts.free_slots} slot{'s are' if facts.free_slots != 1 else ' is'} free"
        return Explanation(Code.IN_LINE, f"{_due_before(facts.ahead)}; {free}.")
    return Explanation(Code.NEXT, "It is due and next in line; a node is about to take it.")


def kept_until(run: Run, ended: datetime, retained: Retained) -> tuple[str, ...]:
    """Explain until when a run that ended at ``ended`` is kept with its executions, and why."""
    if retained.pruning is None:
        return ("Its history is kept for good: no task prunes it.",)
    if retained.is_paused:
        return (f"Its history is kept while the task '{retained.pruning}', which prunes it, is paused.",)
    sentences = _by_age(run, ended, retained.kept, retained.pruning)
    if run.task_id is not None:
        if retained.max_per_task is not None:
            sentences.append(f"Before that it goes once its task has {retained.max_per_task:,} newer executions.")
        sentences.append("The newest execution of a task always stays.")
    return tuple(sentences)


def _by_age(run: Run, ended: datetime, kept: Keeping, pruning: str) -> list[str]:
    keep, by = kept.rule_of(run.job_name, run.group)
    if run.flow_id is not None and keep < kept.age:
        keep, by = kept.age, None
    rule = f"task '{pruning}'" if by is None else by
    why = f"{span(keep.total_seconds())}, as {rule} says"
    if ended + keep < kept.now:
        sentences = [f"Its history is kept for {why}: the next pruning may delete it."]
    else:
        sentences = [f"Its history is kept until {moment(ended + keep)}: for {why}."]
    if run.flow_id is not None:
        sentences.append(f"It is pruned together with flow {run.flow_id}, and not before that has ended for so long.")
    return sentences


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
