"""Explanations of tasks and runs: their codes, the facts they need, and the words that they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from ..admission.caps import Bucket, Cap, Line
from ..defaults import Retained
from ..model import Group, Isolation, Run, SkippedOccurrence
from ..nodes import Blockage, LeftBy
from ..remote import RemoteAttempt
from ..states import RunState


class ExplanationCode(StrEnum):
    """Name the content of an explanation of a task or a run; the schema describes each."""

    BLOCKED = "BLOCKED"
    BLOCKS_LOOP = "BLOCKS_LOOP"
    CANCELLED = "CANCELLED"
    CANCELLING = "CANCELLING"
    CANNOT_STOP = "CANNOT_STOP"
    DUE = "DUE"
    FAILED = "FAILED"
    FINISHED = "FINISHED"
    FOLLOW_UP_LOST = "FOLLOW_UP_LOST"
    GROUP_LIMIT = "GROUP_LIMIT"
    GROUP_PAUSED = "GROUP_PAUSED"
    IN_LINE = "IN_LINE"
    KEY_LIMIT = "KEY_LIMIT"
    LOOP_BLOCKED = "LOOP_BLOCKED"
    NEXT = "NEXT"
    NOT_STARTED = "NOT_STARTED"
    NOT_YET = "NOT_YET"
    NODE_STALLED = "NODE_STALLED"
    NO_CHILD_PROCESS = "NO_CHILD_PROCESS"
    NO_JOB = "NO_JOB"
    NO_NODE = "NO_NODE"
    NO_SLOT = "NO_SLOT"
    NO_TAKER = "NO_TAKER"
    PAUSED = "PAUSED"
    PUT_OFF = "PUT_OFF"
    QUEUED = "QUEUED"
    RATE_LIMIT = "RATE_LIMIT"
    RETRYING = "RETRYING"
    RETRY_LATER = "RETRY_LATER"
    RUNNING = "RUNNING"
    AT_ENGINE = "AT_ENGINE"
    SCHEDULED = "SCHEDULED"
    SKIPPED = "SKIPPED"
    SLEEPING = "SLEEPING"
    SNOOZED = "SNOOZED"
    SUCCESS = "SUCCESS"
    TIMING_OUT = "TIMING_OUT"
    WAITING = "WAITING"
    TOO_FEW_SLOTS = "TOO_FEW_SLOTS"
    WAITS_FOR_RUNS = "WAITS_FOR_RUNS"
    WAITS_FOR_SIGNAL = "WAITS_FOR_SIGNAL"
    WAITS_FOR_VERSION = "WAITS_FOR_VERSION"
    WINDOW_ENDED = "WINDOW_ENDED"


COUNTED_AHEAD = 1_000
"""Runs that were due before another are counted up to here."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """An answer to "why?".

    Attributes:
        code: A stable word for programs and colours.
        details: Further sentences, most important first.
        until: When this changes by time alone; None = not by time.
        run_id: The run that is in the way or that the answer is about.
    """

    code: ExplanationCode
    sentence: str
    details: tuple[str, ...] = ()
    until: datetime | None = None
    run_id: int | None = None


@dataclass(frozen=True, slots=True)
class Leaving:
    """A node that knows a job, and was started to take other runs.

    Attributes:
        by: Which part of its choice leaves this one out.
        takes: The runs that it takes, in words.
    """

    node: str
    by: LeftBy
    takes: str


@dataclass(frozen=True, slots=True)
class LostAttempt:
    """An attempt of a run that was lost with its node, which may still be at it.

    Attributes:
        left_behind: The node itself said that its code could not be stopped.
    """

    attempt: int
    node: str
    left_behind: bool


@dataclass(frozen=True, slots=True)
class AwaitedRun:
    """An unfinished run that another one waits for: its id, its job and its state."""

    id: int
    job_name: str
    state: RunState


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """Hold the facts about a task that its row does not have.

    Attributes:
        job_known: Whether any node has ever published the job (and it was not forgotten).
        nodes: The live nodes that can run it.
        left: The runs that the other live nodes that know the job take instead.
        unfinished: The task's unfinished runs, oldest first.
        waits: The facts about the first of them, unless one of them is running.
        newest_skip: Its newest skipped stretch.
        abandoned: Whether it comes from code, and no live node declares it any more.
        blockages: The blockages of the event loops of the ``nodes``, by the node's name.
        stalls: Which part of the ``nodes`` makes no progress, by the node's name.
    """

    job_known: bool
    nodes: tuple[str, ...]
    left: tuple["Leaving", ...] = ()
    unfinished: tuple[Run, ...] = ()
    waits: "RunFacts | None" = None
    newest_skip: SkippedOccurrence | None = None
    abandoned: bool = False
    blockages: Mapping[str, Blockage] = field(default_factory=dict[str, Blockage])
    stalls: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Ahead:
    """Hold the runs ahead of one that is only tried: new runs of the same request, and runs that await its tokens.

    Attributes:
        group: New runs of its group.
        key: New runs with its concurrency key.
        tokens: New and stored runs that take a token of its bucket.
    """

    group: int = 0
    key: int = 0
    tokens: int = 0


NOTHING_AHEAD = Ahead()


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Hold the facts about a run that its row does not have.

    Attributes:
        job_known: Whether any node has published the job.
        isolation: Where the job runs; None if unknown.
        nodes: The live nodes that can run it and take new work.
        left: The runs that the other live nodes that know the job take instead.
        group: The settings of its group.
        group_occupied: How many runs of its group are scheduled or running.
        blocked_by: The scheduled or running run of the same task that must end first.
        ahead: How many runs of its group and priority were due before it; counted up to ``COUNTED_AHEAD``.
        slots: The slots together of those ``nodes`` that start their runs.
        free_slots: How many of these are free.
        takes: How many slots of one node a run of its job takes.
        largest: How many slots for it the largest of the ``nodes`` has.
        most_free: How many of them are free on one node at most.
        other_version: Further live nodes that know the job, but leave this run to ``nodes``: its arguments were checked
            against another version of the job than theirs.
        blockages: The blockages of the event loops of live nodes, by the node's name.
        launcher_faults: Why some of the ``nodes`` can start no child process, which the run needs, by the node's name.
        stalls: Which part of some of the ``nodes`` makes no progress, by the node's name.
        lost: The newest attempt that was lost with its node.
        key_running: How many runs have a place of its concurrency key.
        key_kept: How many of these no node executes: they keep it until they are finished.
        bucket: The rest of the rate of its job; None = it takes no token of any.
        caps: Where it is counted among those that wait, how many may, and how many do.
        before: The runs that go before a run that is only tried.
        retention: How long its history is kept; only of one that is over.
        remote: Its attempt at an engine, if it has one there.
        awaited: Those of the runs that a suspended run names as awaited that are unfinished, in ascending order.
    """

    job_known: bool
    isolation: Isolation | None
    nodes: tuple[str, ...]
    group: Group
    left: tuple["Leaving", ...] = ()
    group_occupied: int = 0
    blocked_by: int | None = None
    ahead: int = 0
    slots: int = 0
    free_slots: int = 0
    takes: int = 1
    largest: int = 0
    most_free: int = 0
    other_version: tuple[str, ...] = ()
    blockages: Mapping[str, Blockage] = field(default_factory=dict[str, Blockage])
    launcher_faults: Mapping[str, str] = field(default_factory=dict[str, str])
    stalls: Mapping[str, str] = field(default_factory=dict[str, str])
    lost: LostAttempt | None = None
    key_running: int = 0
    key_kept: int = 0
    key_holder: int | None = None
    bucket: Bucket | None = None
    retention: Retained | None = None
    awaited: tuple[AwaitedRun, ...] = ()
    remote: RemoteAttempt | None = None
    caps: tuple[tuple[Line, Cap, int], ...] = ()
    before: Ahead = NOTHING_AHEAD


def moment(instant: datetime) -> str:
    """Return a time in a sentence: ``2026-03-01 12:00:05 UTC``."""
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC"


def span(seconds: float) -> str:
    """Return a length of time in a sentence: ``3 s``, ``5 min``, ``2 h 10 min``, ``4 d 3 h``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, hours, days = whole // 60 % 60, whole // 3600 % 24, whole // 86400
    if days:
        return f"{days} d {hours} h" if hours else f"{days} d"
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min"


def brief_span(seconds: float) -> str:
    """Return a length of time that may be less than a second: ``40 ms``, ``3 s``."""
    return f"{max(1, round(seconds * 1000))} ms" if seconds < 1 else span(seconds)


def no_job(
    job_name: str, group: str, facts: RunFacts | TaskFacts, details: tuple[str, ...], consequence: str
) -> Explanation | None:
    """Explain that no node knows the job, or that no live node can run it; None = one can."""
    if not facts.job_known:
        sentence = f"No node knows the job '{job_name}', so {consequence}. Start a node whose code has it."
        return Explanation(ExplanationCode.NO_JOB, sentence, details)
    if facts.left and not facts.nodes:
        takers = tuple(f"Node {one.node} {one.takes}." for one in facts.left)
        sentence = f"No node that takes {_what_is_left(job_name, group, facts.left)} is alive, so it waits. Start one."
        return Explanation(ExplanationCode.NO_TAKER, sentence, (*takers, *details))
    if not facts.nodes:
        sentence = f"No live node can run the job '{job_name}' now. Start one; its policies decide about missed times."
        return Explanation(ExplanationCode.NO_NODE, sentence, details)
    return None


def all_stalled(facts: RunFacts | TaskFacts) -> Explanation | None:
    """Explain that none of the nodes that can run it makes progress."""
    stalled = [f"the {facts.stalls[name]} of node {name}" for name in facts.nodes if name in facts.stalls]
    if not stalled or len(stalled) < len(facts.nodes):
        return None
    what = "The only node that can run it is" if len(stalled) == 1 else "All nodes that can run it are"
    sentence = (
        f"{what} alive but not working: for longer than a lease, no progress was made by {' and '.join(stalled)}. "
        "Its log says why; restarting its process helps."
    )
    return Explanation(ExplanationCode.NODE_STALLED, sentence)


def _what_is_left(job_name: str, group: str, left: Sequence[Leaving]) -> str:
    """Return the runs that nobody takes: the group if the group alone is in the way, and so on."""
    match {one.by for one in left}:
        case parts if parts == {LeftBy.GROUP}:
            return f"the group '{group}'"
        case parts if parts == {LeftBy.TAG}:
            return f"the tags of the job '{job_name}'"
        case parts if LeftBy.GROUP in parts:
            return f"the job '{job_name}' in the group '{group}'"
        case _:
            return f"the job '{job_name}'"
