"""Alarms as they are wanted: a condition on one thing, written in a form, in code or in a file. No input or output."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final, Self

from .base.errors import InvalidInput, UserError
from .base.times import counted, number_text
from .model import Json
from .rules import MAX_SECONDS, name_faults, text_faults
from .run_spec import length

MAX_CHANNELS_OF_ALARM: Final = 20
MAX_COUNT: Final = 1_000_000


class Condition(StrEnum):
    """The condition of an alarm."""

    LATE = "late"
    OVERDUE = "overdue"
    SLOW = "slow"
    FAILING = "failing"
    EMPTY = "empty"
    BACKLOG = "backlog"
    NODE = "node"


class SubjectKind(StrEnum):
    """The kind of thing that an alarm watches."""

    TASK = "task"
    JOB = "job"
    GROUP = "group"
    NODE = "node"


class Severity(StrEnum):
    """The severity of an alarm, for its receivers."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


SUBJECTS: Final[Mapping[Condition, frozenset[SubjectKind]]] = {
    Condition.LATE: frozenset({SubjectKind.TASK}),
    Condition.OVERDUE: frozenset({SubjectKind.TASK}),
    Condition.SLOW: frozenset({SubjectKind.TASK, SubjectKind.JOB, SubjectKind.GROUP}),
    Condition.FAILING: frozenset({SubjectKind.TASK, SubjectKind.JOB, SubjectKind.GROUP}),
    Condition.EMPTY: frozenset({SubjectKind.TASK, SubjectKind.JOB, SubjectKind.GROUP}),
    Condition.BACKLOG: frozenset({SubjectKind.GROUP}),
    Condition.NODE: frozenset({SubjectKind.NODE}),
}
"""The kinds of things that a condition can be about."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of a condition; None = the condition does not use it. Times in seconds.

    Attributes:
        grace: Of LATE: the time by which an occurrence may start late.
        due_by: Of OVERDUE: a wall time of the task's zone, ``06:00``.
        after: Of OVERDUE and SLOW: a time since the occurrence was due, or since the execution started.
        times_p95: Of SLOW: a factor of the duration that 95 of 100 recent executions stay under.
        failed_runs: Of FAILING: the number of runs.
        least_records: Of EMPTY: the records that an execution has to process.
        older_than: Of BACKLOG: the longest that a run may have waited.
        deeper_than: Of BACKLOG: the most runs that may wait.
    """

    grace: float | None = None
    due_by: str | None = None
    after: float | None = None
    times_p95: float | None = None
    failed_runs: int | None = None
    least_records: int | None = None
    older_than: float | None = None
    deeper_than: int | None = None

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
        subject: The name of what it watches; None = every node.
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
}
"""The least and the largest value of each number."""
_PLACES: Final = {
    "times_p95": "timesP95",
    "failed_runs": "failedRuns",
    "least_records": "leastRecords",
    "older_than": "olderThan",
    "deeper_than": "deeperThan",
}
"""The names of some settings in the API."""


def alarm_faults(alarm: AlarmSpec) -> Iterator[UserError]:
    """Yield the faults of an alarm."""
    yield from name_faults(alarm.name, "name")
    yield from text_faults(alarm.description, "description")
    if alarm.subject is not None:
        yield from name_faults(alarm.subject, "subject")
    elif alarm.subject_kind is not SubjectKind.NODE:
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
    about = "a node" if alarm.subject is None else f"{alarm.subject_kind.value} '{alarm.subject}'"
    wishes: Mapping[Condition, Callable[[], str]] = {
        Condition.LATE: lambda: f"starts more than {seconds_text(settings.grace or 0)} late or misses an occurrence",
        Condition.OVERDUE: lambda: f"is not done {_deadline(settings)}",
        Condition.SLOW: lambda: f"runs longer than {_pace(settings)}",
        Condition.FAILING: lambda: f"fails {counted(settings.failed_runs or 1, 'time')} in a row",
        Condition.EMPTY: lambda: f"processes fewer than {counted(settings.least_records or 1, 'record')}",
        Condition.BACKLOG: lambda: f"has {_queue(settings)}",
        Condition.NODE: lambda: "is lost or silent",
    }
    return f"{about} {wishes[alarm.condition]()}"


def _deadline(settings: Settings) -> str:
    if settings.due_by is not None:
        return f"by {settings.due_by}"
    return f"{seconds_text(settings.after or 0)} after it was due"


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


WORDS: Final = ("late", "due_by", "overdue", "slow", "failing", "empty", "older_than", "deeper_than")
"""The words of a condition in code, in files and at the command line."""


def condition_of(words: Mapping[str, Any]) -> tuple[Condition, Settings]:
    """Return the condition that some of ``WORDS`` say; a word without a value counts as absent.

    Raises:
        InvalidInput: they are not one condition, or a value is no duration.
    """
    given = {word: value for word, value in words.items() if value is not None and value is not False}
    backlog = {name: given.pop(name) for name in ("older_than", "deeper_than") if name in given}
    if len(given) + bool(backlog) != 1:
        got = ", ".join([*given, *backlog]) or "none"
        raise InvalidInput(f"condition: must be one of {', '.join(WORDS)}, got {got}", path=("condition",))
    if backlog:
        older = backlog.get("older_than")
        seconds = None if older is None else length("older_than", older)
        return Condition.BACKLOG, Settings(older_than=seconds, deeper_than=backlog.get("deeper_than"))
    ((word, value),) = given.items()
    if word == "due_by":
        return Condition.OVERDUE, Settings(due_by=str(value))
    if word == "slow":
        return Condition.SLOW, _slow(value)
    if word in {"failing", "empty"}:
        number = _number(word, value)
        failing = (Condition.FAILING, Settings(failed_runs=number))
        return failing if word == "failing" else (Condition.EMPTY, Settings(least_records=number))
    seconds = length(word, value)
    late = (Condition.LATE, Settings(grace=seconds))
    return late if word == "late" else (Condition.OVERDUE, Settings(after=seconds))


def _number(word: str, value: object) -> int:
    if not isinstance(value, int):
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
    subject = None if kind is SubjectKind.NODE and words[kind.value] == ANY_NODE else words[kind.value]
    said = {word: value for word, value in words.items() if word in WORDS and value not in (None, False)}
    condition = (Condition.NODE, Settings()) if kind is SubjectKind.NODE and not said else condition_of(said)
    return AlarmSpec(name, condition[0], kind, subject, condition[1], tuple(channels), severity, description)


def _slow(value: object) -> Settings:
    factor = _FACTOR.fullmatch(value) if isinstance(value, str) else None
    return Settings(after=length("slow", value)) if factor is None else Settings(times_p95=float(factor[1]))  # type: ignore[arg-type]


_FACTOR: Final = re.compile(r"(\d+(?:\.\d+)?)x", re.ASCII)


def definition_of(alarm: AlarmSpec) -> dict[str, Json]:
    """Return an alarm as a file has it: its subject, the words of its condition, and all that is not as usual."""
    words: dict[str, Json] = {alarm.subject_kind.value: alarm.subject or ANY_NODE, **_words_of(alarm)}
    rest = {"channels": list(alarm.channels), "severity": alarm.severity.value, "description": alarm.description}
    return words | {name: value for name, value in rest.items() if value and value != Severity.WARNING.value}


ANY_NODE: Final = "any"
"""The word for every node."""


def _words_of(alarm: AlarmSpec) -> dict[str, Json]:
    settings = alarm.settings
    factor = None if settings.times_p95 is None else f"{number_text(settings.times_p95)}x"
    words: Mapping[Condition, dict[str, Json]] = {
        Condition.LATE: {"late": settings.grace or 0},
        Condition.OVERDUE: {"due_by": settings.due_by, "overdue": settings.after},
        Condition.SLOW: {"slow": factor or settings.after},
        Condition.FAILING: {"failing": settings.failed_runs},
        Condition.EMPTY: {"empty": settings.least_records},
        Condition.BACKLOG: {"older_than": settings.older_than, "deeper_than": settings.deeper_than},
        Condition.NODE: {},
    }
    return {word: value for word, value in words[alarm.condition].items() if value is not None}
