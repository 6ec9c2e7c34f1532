"""Rules of attempts outside of their node: an engine's reports of them, and the end of one without reports."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from .base.times import time_text
from .model import Json
from .outcome import Failed, HandedBack, JobOutcome, Lost

REMOTE_LOST: Final = "RemoteLost"
"""Error type of an execution that its engine lost, or of which nothing was heard for a lease."""
REMOTE_PROCESS: Final = "RemoteProcessError"
"""Error type of an execution whose process ended at its engine before its job did."""
MAX_ENGINE_TEXT: Final = 2_000
"""Characters of the engine's own words that are kept."""
LET_GO: Final[JobOutcome] = HandedBack("another node looks after it from now on")
"""The end of an attempt for one node alone: nothing of it is stored."""
_HEARTBEATS: Final = 6
"""Heartbeats in a lease."""
_LAST_WORDS: Final = 1.5
"""Heartbeats that code whose process has ended may still be heard of: the engine may have started it twice."""


class EngineState(StrEnum):
    """The state of a submitted attempt, as its engine says it.

    ``GONE``: the engine has lost it. ``EVICTED``: the engine has taken it off its machine, through no fault of its own.
    """

    UNKNOWN = "unknown"
    PENDING = "pending"
    RUNNING = "running"
    ENDED = "ended"
    GONE = "gone"
    EVICTED = "evicted"


class QueuePlace(NamedTuple):
    """The place of an attempt among those that wait with it at its engine: 1 comes first of ``length``."""

    position: int
    length: int


@dataclass(frozen=True, slots=True)
class Seen:
    """The answer of an engine about one attempt.

    Attributes:
        text: The engine's own words for it.
        place: Where it waits, if the engine says so. It changes all the time, and is no news by itself.
    """

    state: EngineState
    text: str = ""
    place: QueuePlace | None = field(default=None, compare=False)


AT_WORK: Final = frozenset({EngineState.PENDING, EngineState.RUNNING})
"""States in which an attempt goes on, however silent its code is."""
UNSEEN: Final = Seen(EngineState.UNKNOWN)
"""The engine does not list it."""


@dataclass(frozen=True, slots=True)
class RemoteAttempt:
    """An attempt that was handed to an engine.

    Attributes:
        name: Its name at the engine, known before it was submitted.
        node_id: The node that looks after it; None = none at this moment.
        handle: By which the engine knows it; None = it was not heard of since the submission began.
        submitted_at: When the submission began.
        engine_state: Its state as the engine said it last.
        engine_text: The engine's own words.
        engine_since: Since when it is in that state.
        started_at: When its code began.
        heard_at: When its code was heard last.
        stop: Why its code should stop, if it should.
        log_lines: How many lines its code has written.
        ended_at: When its end was accepted.
        over_at: When its node had stored that end, and the engine had forgotten it.
        folder: Through which its code speaks; None = it reaches a server.
        resources: Those that it was submitted with: its job's, its task's and its run's in one; None = none.
        queue_position: Its place among the attempts that wait at the engine, 1 = the next; None = it is not known.
        queue_length: The number of those.
        page: The address of its page there, with ``{handle}`` and ``{name}`` in it; None = there is none.
        token_hash: Of the token by which its code speaks.
    """

    execution_id: int
    run_id: int
    attempt: int
    executor: str
    name: str
    node_id: int | None
    handle: str | None
    submitted_at: datetime
    engine_state: EngineState
    engine_text: str
    engine_since: datetime
    started_at: datetime | None
    heard_at: datetime | None
    stop: str | None
    log_lines: int
    ended_at: datetime | None
    over_at: datetime | None
    folder: str | None
    resources: dict[str, Json] | None
    queue_position: int | None
    queue_length: int | None
    page: str | None
    token_hash: str = field(repr=False)


def heartbeat_of(lease: float) -> float:
    """Return the seconds between two signs of life of remote code."""
    return lease / _HEARTBEATS


def end_without_words(
    one: RemoteAttempt, seen: Seen, now: datetime, lease: float, listening: datetime
) -> Failed | HandedBack | Lost | None:
    """Return how an attempt has ended whose code says nothing; None: it may be at work.

    Not to be listed means nothing by itself: lists of engines are late and incomplete. An attempt that an engine lists
    is at work, however long its code is not heard.

    Args:
        one: The attempt, with its state before ``seen``.
        seen: The present report of its engine.
        now: The database's time.
        lease: Seconds for which code may be silent.
        listening: Since when this node looks after it: before, perhaps nobody heard its code.
    """
    silent = (now - max(one.heard_at or one.submitted_at, listening)).total_seconds()
    since = now if seen.state is not one.engine_state else one.engine_since
    quiet = min(silent, (now - since).total_seconds())
    last_words = heartbeat_of(lease) * _LAST_WORDS
    words = f": {seen.text}" if seen.text else ""
    if seen.state is EngineState.GONE and quiet >= last_words:
        return Lost(f"{one.executor} lost {one.handle or one.name}{words}", REMOTE_LOST)
    if seen.state is EngineState.EVICTED and quiet >= last_words:
        return HandedBack(f"{one.executor} took {one.handle or one.name} off its machine{words}")
    if seen.state is EngineState.ENDED and quiet >= last_words:
        begun = "before its job ended" if one.started_at else "before its job began"
        return Failed(REMOTE_PROCESS, f"{one.handle or one.name} at {one.executor} ended {begun}{words}")
    if seen.state is EngineState.UNKNOWN and silent >= lease:
        heard = f"was last heard at {time_text(one.heard_at)}" if one.heard_at else "was never heard"
        sentence = f"{one.executor} does not know {one.handle or one.name}, and its code {heard}"
        return Lost(f"{sentence}, more than {lease:g} s ago", REMOTE_LOST)
    return None
