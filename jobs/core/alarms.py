"""Alarms as they are wanted: a condition on one thing, written in a form, in code or in a file. No input or output.

With the marks of groups of failures: a silenced or solved failure is no new error.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, Self

from .base.errors import InvalidInput, UserError
from .base.times import counted, number_text, time_text
from .model import Json
from .rules import MAX_SECONDS, name_faults, text_faults
from .run_spec import length

MAX_CHANNELS_OF_ALARM: Final = 20
MAX_COUNT: Final = 1_000_000
MAX_OF_RUNS: Final = 60
"""Runs of which a share can be watched: their outcomes are the bits of one number."""
DATABASE_LIMITS: Final = ("larger_than", "least_free", "transaction", "lag")


class Condition(StrEnum):
    """The condition of an alarm."""

    LATE = "late"
    OVERDUE = "overdue"
    SLOW = "slow"
    FAILING = "failing"
    EMPTY = "empty"
    BACKLOG = "backlog"
    NODE = "node"
    NEW_ERROR = "new_error"
    SKEW = "skew"
    DATABASE = "database"
    IDLE = "idle"
    WEBHOOK = "webhook"


class SubjectKind(StrEnum):
    """The kind of thing that an alarm watches."""

    TASK = "task"
    JOB = "job"
    GROUP = "group"
    NODE = "node"
    DATABASE = "database"
    FLOW = "flow"
    WEBHOOK = "webhook"


class Severity(StrEnum):
    """The severity of an alarm, for its receivers."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


SUBJECTS: Final[Mapping[Condition, frozenset[SubjectKind]]] = {
    Condition.LATE: frozenset({SubjectKind.TASK}),
    Condition.OVERDUE: frozenset({SubjectKind.TASK}),
    Condition.SLOW: frozenset({SubjectKind.TASK, SubjectKind.JOB, SubjectKind.GROUP, SubjectKind.FLOW}),
    Condition.FAILING: frozenset({SubjectKind.TASK, SubjectKind.JOB, SubjectKind.GROUP, SubjectKind.FLOW}),
    Condition.EMPTY: frozenset({SubjectKind.TASK, SubjectKind.JOB, SubjectKind.GROUP}),
    Condition.BACKLOG: frozenset({SubjectKind.GROUP}),
    Condition.NODE: frozenset({SubjectKind.NODE}),
    Condition.NEW_ERROR: frozenset({SubjectKind.TASK, SubjectKind.JOB, SubjectKind.GROUP}),
    Condition.SKEW: frozenset({SubjectKind.NODE}),
    Condition.DATABASE: frozenset({SubjectKind.DATABASE}),
    Condition.IDLE: frozenset({SubjectKind.NODE}),
    Condition.WEBHOOK: frozenset({SubjectKind.WEBHOOK}),
}
"""The kinds of things that a condition can be about."""
UNNAMED: Final = {
    SubjectKind.NODE: "a node",
    SubjectKind.DATABASE: "the database",
    SubjectKind.WEBHOOK: "a webhook",
}
"""Subjects that need no name: every node, the database, every webhook."""
_OF_SUBJECT: Final = {SubjectKind.NODE: Condition.NODE, SubjectKind.WEBHOOK: Condition.WEBHOOK}
"""The condition of subjects that have one without values."""
WITHOUT_VALUES: Final = frozenset(_OF_SUBJECT.values())


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of a condition; None = the condition does not use it. Times in seconds.

    Attributes:
        grace: Of LATE: the time by which an occurrence may start late.
        due_by: Of OVERDUE: a wall time of the task's zone, ``06:00``.
        after: Of OVERDUE, SLOW and IDLE: a time since the occurrence was due, the execution or the flow started, or a
            run that nobody takes was due.
        times_p95: Of SLOW: a factor of the duration that 95 of 100 recent executions stay under.
        failed_runs: Of FAILING: the number of runs in a row.
        failed_share: Of FAILING, in place of that: the part of the last ``of_runs`` runs, above 0 to 1.
        least_records: Of EMPTY: the records that an execution has to process.
        older_than: Of BACKLOG: the longest that a run may have waited.
        deeper_than: Of BACKLOG: the most runs that may wait.
        quiet: Of NEW_ERROR: the time after which an error counts as new again.
        most_skew: Of SKEW: the most by which the clock of a node may differ from the database's.
        larger_than: Of DATABASE: the most bytes that it may have.
        least_free: Of DATABASE: the least bytes that have to be free on its disk, of a SQLite file alone.
        transaction: Of DATABASE: the longest that a transaction may be open.
        lag: Of DATABASE: the longest that a standby may be behind.
    """

    grace: float | None = None
    due_by: str | None = None
    after: float | None = None
    times_p95: float | None = None
    failed_runs: int | None = None
    least_records: int | None = None
    older_than: float | None = None
    deeper_than: int | None = None
    failed_share: float | None = None
    of_runs: int | None = None
    quiet: float | None = None
    most_skew: float | None = None
    larger_than: int | None = None
    least_free: int | None = None
    transaction: float | None = None
    lag: float | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the stored form: only set values."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the settings of a stored form; names that this version does not know are ignored."""
        known: dict[str, Any] = {one.name: stored[one.name] for one in fields(cls) if one.name in stored}
        return cls(**known)


@dataclass(frozen=True, slots=True)
class AlarmSpec:
    """An alarm as it is wanted.

    Attributes:
        subject: The name of the object that it watches; None = every node, every webhook, or the database.
        channels: The names of the channels that it notifies.
    """

    name: str
    condition: Condition
    subject_kind: SubjectKind
    subject: str | None
    settings: Settings
    channels: tuple[str, ...]
    severity: Severity
    description: str


_WALL: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d", re.ASCII)
_NUMBERS: Final[Mapping[str, tuple[float, float]]] = {
    "grace": (0, MAX_SECONDS),
    "after": (1, MAX_SECONDS),
    "times_p95": (1, 1000),
    "failed_runs": (1, MAX_COUNT),
    "least_records": (1, 2**53),
    "older_than": (1, MAX_SECONDS),
    "deeper_than": (1, MAX_COUNT),
    "failed_share": (0.01, 1),
    "of_runs": (2, MAX_OF_RUNS),
    "quiet": (60, MAX_SECONDS),
    "most_skew": (0.1, MAX_SECONDS),
    "larger_than": (1, 2**53),
    "least_free": (1, 2**53),
    "transaction": (1, MAX_SECONDS),
    "lag": (1, MAX_SECONDS),
}
"""The least and the largest value of each number."""
_PLACES: Final = {
    "times_p95": "timesP95",
    "failed_runs": "failedRuns",
    "least_records": "leastRecords",
    "older_than": "olderThan",
    "deeper_than": "deeperThan",
    "failed_share": "failedShare",
    "of_runs": "ofRuns",
    "most_skew": "mostSkew",
    "larger_than": "largerThan",
    "least_free": "leastFree",
}
"""The names of some settings in the API."""


def alarm_faults(alarm: AlarmSpec) -> Iterator[UserError]:
    """Yield the faults of an alarm."""
    yield from name_faults(alarm.name, "name")
    yield from text_faults(alarm.description, "description")
    if alarm.subject is not None:
        yield from name_faults(alarm.subject, "subject")
    elif alarm.subject_kind not in UNNAMED:
        yield InvalidInput(f"subject: must be the name of a {alarm.subject_kind.value}, got nothing", path=("subject",))
    if alarm.subject_kind not in SUBJECTS[alarm.condition]:
        possible = " or a ".join(sorted(one.value for one in SUBJECTS[alarm.condition]))
        yield InvalidInput(
            f"subject: the condition {alarm.condition.value} must be about a {possible}, "
            f"got a {alarm.subject_kind.value}",
            path=("subject",),
        )
    if len(alarm.channels) > MAX_CHANNELS_OF_ALARM:
        yield InvalidInput(
            f"channels: must be at most {MAX_CHANNELS_OF_ALARM}, got {len(alarm.channels)}", path=("channels",)
        )
    for channel in alarm.channels:
        yield from name_faults(channel, "channels")
    yield from _settings_faults(alarm.condition, alarm.settings)


def _settings_faults(condition: Condition, settings: Settings) -> Iterator[InvalidInput]:
    for name, (least, most) in _NUMBERS.items():
        value: float | None = getattr(settings, name)
        if value is not None and not least <= value <= most:
            place = _PLACES.get(name, name)
            yield InvalidInput(
                f"{condition.value}.{place}: must be {number_text(least)} to {number_text(most)}, "
                f"got {number_text(value)}",
                path=("condition", condition.value, place),
            )
    if settings.due_by is not None and _WALL.fullmatch(settings.due_by) is None:
        yield InvalidInput(
            f"overdue.dueBy: must be a time of day such as 06:00, got {settings.due_by[:40]!r}",
            path=("condition", "overdue", "dueBy"),
        )
    if (settings.failed_share is None) != (settings.of_runs is None):
        yield InvalidInput(
            "failing: must have failedShare and ofRuns together, got one of them", path=("condition", "failing")
        )
    if condition is Condition.DATABASE and all(getattr(settings, name) is None for name in DATABASE_LIMITS):
        yield InvalidInput(
            "condition.database: must have largerThan, leastFree, transaction or lag, got none",
            path=("condition", "database"),
        )
    if condition is Condition.BACKLOG and settings.older_than is None and settings.deeper_than is None:
        yield InvalidInput(
            "condition.backlog: must have olderThan or deeperThan, or both, got neither", path=("condition", "backlog")
        )


def seconds_text(seconds: float) -> str:
    """Return a time in words: ``90 s``, ``15 min``, ``2 h``."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{number_text(seconds / size)} {unit}"
    return f"{number_text(round(seconds, 1))} s"


def wish(alarm: AlarmSpec) -> str:
    """Return the condition of an alarm in words: ``task 'billing' starts more than 5 min late``."""
    settings = alarm.settings
    about = f"{alarm.subject_kind.value} '{alarm.subject}'"
    if alarm.subject is None:
        about = UNNAMED[alarm.subject_kind]
    wishes: Mapping[Condition, Callable[[], str]] = {
        Condition.LATE: lambda: f"starts more than {seconds_text(settings.grace or 0)} late or misses an occurrence",
        Condition.OVERDUE: lambda: f"is not done {_deadline(settings)}",
        Condition.SLOW: lambda: f"runs longer than {_pace(settings)}",
        Condition.FAILING: lambda: _failures(settings),
        Condition.EMPTY: lambda: f"processes fewer than {counted(settings.least_records or 1, 'record')}",
        Condition.BACKLOG: lambda: f"has {_queue(settings)}",
        Condition.NODE: lambda: "is lost or silent",
        Condition.NEW_ERROR: lambda: f"fails with an error that it has not had for {seconds_text(settings.quiet or 0)}",
        Condition.SKEW: lambda: f"has a clock that is more than {seconds_text(settings.most_skew or 0)} off",
        Condition.DATABASE: lambda: _limits(settings),
        Condition.IDLE: lambda: (
            f"has free slots and takes none of the runs due for {seconds_text(settings.after or 0)}"
        ),
        Condition.WEBHOOK: lambda: "is switched off or parked",
    }
    return f"{about} {wishes[alarm.condition]()}"


def _deadline(settings: Settings) -> str:
    if settings.due_by is not None:
        return f"by {settings.due_by}"
    return f"{seconds_text(settings.after or 0)} after it was due"


def _failures(settings: Settings) -> str:
    if settings.failed_share is not None:
        return f"fails in {settings.failed_share:.0%} of its last {counted(settings.of_runs or 0, 'run')}"
    return f"fails {counted(settings.failed_runs or 1, 'time')} in a row"


def _limits(settings: Settings) -> str:
    parts: list[str] = []
    if settings.larger_than is not None:
        parts.append(f"has more than {settings.larger_than:,} bytes")
    if settings.least_free is not None:
        parts.append(f"has fewer than {settings.least_free:,} bytes free")
    if settings.transaction is not None:
        parts.append(f"has a transaction that is open for longer than {seconds_text(settings.transaction)}")
    if settings.lag is not None:
        parts.append(f"has a standby that is more than {seconds_text(settings.lag)} behind")
    return " or ".join(parts)


def _pace(settings: Settings) -> str:
    if settings.times_p95 is not None:
        return f"{number_text(settings.times_p95)} x its p95"
    return seconds_text(settings.after or 0)


def _queue(settings: Settings) -> str:
    parts: list[str] = []
    if settings.older_than is not None:
        parts.append(f"a run that waits longer than {seconds_text(settings.older_than)}")
    if settings.deeper_than is not None:
        parts.append(f"more than {counted(settings.deeper_than, 'waiting run')}")
    return " or ".join(parts)


_TOGETHER: Final = {
    **dict.fromkeys(("older_than", "deeper_than"), Condition.BACKLOG),
    **dict.fromkeys(DATABASE_LIMITS, Condition.DATABASE),
}
"""Words of which a condition may have several."""
WORDS: Final = ("late", "due_by", "overdue", "slow", "failing", "empty", "new_error", "skew", "idle", *_TOGETHER)
"""The words of a condition in code, in files and at the command line."""


def condition_of(words: Mapping[str, Any], possible: Sequence[str] = WORDS) -> tuple[Condition, Settings]:
    """Return the condition that some of the ``possible`` words say; a word without a value counts as absent.

    Raises:
        InvalidInput: they are not one condition, or a value is no duration.
    """
    given = {word: value for word, value in words.items() if value is not None and value is not False}
    several = {word: given.pop(word) for word in _TOGETHER if word in given}
    kinds = {_TOGETHER[word] for word in several}
    if len(given) + len(kinds) != 1:
        got = ", ".join([*given, *several]) or "none"
        raise InvalidInput(f"condition: must be one of {', '.join(possible)}, got {got}", path=("condition",))
    if kinds:
        counts = {"deeper_than", "larger_than", "least_free"}
        values: dict[str, Any] = {
            word: _number(word, value) if word in counts else length(word, value) for word, value in several.items()
        }
        return kinds.pop(), Settings(**values)
    ((word, value),) = given.items()
    if word == "due_by":
        return Condition.OVERDUE, Settings(due_by=str(value))
    if word == "slow":
        return Condition.SLOW, _slow(value)
    if word == "failing" and (share := _SHARE.fullmatch(str(value))) is not None:
        return Condition.FAILING, Settings(failed_share=float(Decimal(share[1]).scaleb(-2)), of_runs=int(share[2]))
    if word in {"failing", "empty"}:
        number = _number(word, value)
        failing = (Condition.FAILING, Settings(failed_runs=number))
        return failing if word == "failing" else (Condition.EMPTY, Settings(least_records=number))
    seconds = length(word, value)
    found = {
        "late": (Condition.LATE, Settings(grace=seconds)),
        "overdue": (Condition.OVERDUE, Settings(after=seconds)),
        "new_error": (Condition.NEW_ERROR, Settings(quiet=seconds)),
        "skew": (Condition.SKEW, Settings(most_skew=seconds)),
        "idle": (Condition.IDLE, Settings(after=seconds)),
    }
    return found[word]


_SHARE: Final = re.compile(r"(\d{1,3}(?:\.\d+)?)% of (\d{1,4})", re.ASCII)


def _number(word: str, value: object) -> int:
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    # True is an int, and no count; only of `empty` it says something: at least one record.
    if not isinstance(value, int) or (value is True and word != "empty"):
        raise InvalidInput(f"{word}: must be a whole number, got {value!r:.60}", path=(word,))
    return int(value)


def spec_of(
    name: str, words: Mapping[str, Any], *, channels: Iterable[str], severity: Severity, description: str
) -> AlarmSpec:
    """Return the alarm that a kind of subject with a name, and the words of a condition say.

    Raises:
        InvalidInput: there is not one subject, or not one condition.
    """
    subjects = [kind for kind in SubjectKind if words.get(kind.value) is not None]
    if len(subjects) != 1:
        got = " and ".join(subjects) or "none"
        raise InvalidInput(f"subject: must be one of {', '.join(SubjectKind)}, got {got}", path=("subject",))
    (kind,) = subjects
    subject = None if kind in UNNAMED and words[kind.value] == ANY else words[kind.value]
    said = {word: value for word, value in words.items() if word in WORDS and value is not None and value is not False}
    condition = (_OF_SUBJECT[kind], Settings()) if kind in _OF_SUBJECT and not said else condition_of(said)
    return AlarmSpec(name, condition[0], kind, subject, condition[1], tuple(channels), severity, description)


def _slow(value: object) -> Settings:
    factor = _FACTOR.fullmatch(value) if isinstance(value, str) else None
    return Settings(after=length("slow", value)) if factor is None else Settings(times_p95=float(factor[1]))  # type: ignore[arg-type]


_FACTOR: Final = re.compile(r"(\d+(?:\.\d+)?)x", re.ASCII)


def definition_of(alarm: AlarmSpec) -> dict[str, Json]:
    """Return an alarm as a file has it: its subject, the words of its condition, and all that is not as usual."""
    words: dict[str, Json] = {alarm.subject_kind.value: alarm.subject or ANY, **_words_of(alarm)}
    rest = {"channels": list(alarm.channels), "severity": alarm.severity.value, "description": alarm.description}
    usual: dict[str, Json] = {"channels": [], "severity": Severity.WARNING.value, "description": ""}
    return words | {name: value for name, value in rest.items() if value != usual[name]}


ANY: Final = "any"
"""The word for every node, every webhook, and the database."""


def _words_of(alarm: AlarmSpec) -> dict[str, Json]:
    settings = alarm.settings
    factor = None if settings.times_p95 is None else f"{_exactly(settings.times_p95)}x"
    part = None if settings.failed_share is None else _exactly(settings.failed_share, shift=2)
    share = None if part is None else f"{part}% of {settings.of_runs}"
    words: Mapping[Condition, dict[str, Json]] = {
        Condition.LATE: {"late": settings.grace or 0},
        Condition.OVERDUE: {"due_by": settings.due_by, "overdue": settings.after},
        Condition.SLOW: {"slow": factor or settings.after},
        Condition.FAILING: {"failing": share or settings.failed_runs or 1},
        Condition.NEW_ERROR: {"new_error": settings.quiet},
        Condition.SKEW: {"skew": settings.most_skew},
        Condition.DATABASE: {name: getattr(settings, name) for name in DATABASE_LIMITS},
        Condition.EMPTY: {"empty": settings.least_records},
        Condition.BACKLOG: {"older_than": settings.older_than, "deeper_than": settings.deeper_than},
        Condition.NODE: {},
        Condition.IDLE: {"idle": settings.after},
        Condition.WEBHOOK: {},
    }
    return {word: value for word, value in words[alarm.condition].items() if value is not None}


def _exactly(value: float, shift: int = 0) -> str:
    """Return a number as ``condition_of`` reads it back: all its digits, times ten to the power of ``shift``."""
    return f"{Decimal(repr(float(value))).scaleb(shift):f}".removesuffix(".0")


class FailureState(StrEnum):
    """The state of a group of failures."""

    OPEN = "open"
    SILENCED = "silenced"
    SOLVED = "solved"
    REGRESSED = "regressed"

    @property
    def is_known(self) -> bool:
        """True if people know of its failures, which are no news then."""
        return self in {FailureState.SILENCED, FailureState.SOLVED}


@dataclass(frozen=True, slots=True)
class FailureMark:
    """The mark of one group of failures: people know of it for a while, or they have mended its cause.

    Attributes:
        fingerprint: The name of the group.
        silenced_until: Until then it counts as known: it is no new error, and no reason to be alarmed.
        solved_at: When somebody said that its cause is mended.
        solved_in: The version of the job's code that mends it, as its code says it; None = the present one does.
        old_versions: The signatures of the versions that had it, and may fail so until they are gone; None = none may.
    """

    fingerprint: str
    job_name: str
    silenced_until: datetime | None
    silenced_by: str | None
    silence_reason: str | None
    solved_at: datetime | None
    solved_by: str | None
    solved_in: str | None
    old_versions: tuple[str, ...] | None
    updated_at: datetime

    def is_silenced(self, now: datetime) -> bool:
        """Return whether it counts as known now."""
        return self.silenced_until is not None and now < self.silenced_until

    def comes_back(self, started_at: datetime, signature: str | None) -> bool:
        """Return whether a failure shows that it is not solved: it began later, and not in code that had it.

        Args:
            started_at: When the execution began.
            signature: Of the version of the job on its node; None = it is not known any more.
        """
        if self.solved_at is None or started_at <= self.solved_at:
            return False
        return self.old_versions is None or signature not in self.old_versions

    def state(self, now: datetime, *, is_back: bool) -> FailureState:
        """Return the state of the group; ``is_back``: a failure has shown that it is not solved."""
        if self.is_silenced(now):
            return FailureState.SILENCED
        if self.solved_at is None:
            return FailureState.OPEN
        return FailureState.REGRESSED if is_back else FailureState.SOLVED

    def silence(self) -> dict[str, Json] | None:
        """Return its silence as the audit log has it."""
        if self.silenced_until is None:
            return None
        return {"until": time_text(self.silenced_until), "reason": self.silence_reason}

    def solution(self) -> dict[str, Json] | None:
        """Return how it is solved as the audit log has it."""
        return None if self.solved_at is None else {"at": time_text(self.solved_at), "version": self.solved_in}


MAX_MARKS: Final = 10_000


def unmarked(fingerprint: str, job_name: str, now: datetime) -> FailureMark:
    """Return the mark of a group of which nobody has said anything."""
    return FailureMark(fingerprint, job_name, None, None, None, None, None, None, None, now)
