"""The policies that a job carries: defaults of its runs and tasks, rules of retries, reuse and batches, its alarms."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final, cast

from ..core.admission.holding import ttl_faults
from ..core.alarms import WORDS, AlarmSpec, Condition, Severity, SubjectKind, alarm_faults, condition_of
from ..core.base.errors import InvalidInput, refuse
from ..core.defaults import NO_DEFAULTS, JobDefaults, keep_faults
from ..core.model import MisfirePolicy, OverlapPolicy, Priority
from ..core.outcome import MAX_RETRY_DELAY
from ..core.rules import MAX_SECONDS, attempt_faults, name_faults
from ..core.run_spec import Seconds, length, seconds_of
from .functions import check_takes
from .limits import KeyFunction

DEFAULT_MEMORY: Final = 512 * 1024 * 1024
"""Bytes of memory above which a child process is not used again unless its job says otherwise."""

MOST_OF_A_BATCH: Final = 10_000
"""Runs of one call."""
LONGEST_WAIT_OF_A_BATCH: Final = 60.0
"""Seconds for which the first run of a call waits for others at most."""


@dataclass(frozen=True, slots=True)
class Reuse:
    """A child process serves several runs of a job, one after the other, until one of these limits is reached.

    It also ends after any attempt that does not succeed, or that leaves a process of its own behind.

    Attributes:
        runs: How many runs; None = no limit.
        age: How long after its start it begins the last one, e.g. ``"1h"``; None = no limit.
        memory: Bytes of memory that it holds after a run.

    Raises:
        ValueError: names the limit that cannot be.
        InvalidInput: ``age`` is no duration.
    """

    runs: int | None = None
    age: Seconds | None = None
    memory: int = DEFAULT_MEMORY

    def __post_init__(self) -> None:
        """Refuse an invalid limit."""
        if self.runs is None and self.age is None:
            raise ValueError("reuse: needs a limit, e.g. Reuse(runs=100) or Reuse(age='1h')")
        if self.runs is not None and not _is_number(self.runs):
            raise ValueError(f"reuse: runs must be 1 or more, got {self.runs!r:.60}")
        if self.age is not None and length("reuse: age", self.age) == 0:
            raise ValueError(f"reuse: age must be above 0, got {self.age}")
        if not _is_number(self.memory):
            raise ValueError(f"reuse: memory must be a number of bytes above 0, got {self.memory!r:.60}")


@dataclass(frozen=True, slots=True)
class Batch:
    """Carry out many runs by one call: ``@job(batch=Batch(size=100, wait="200ms"))``.

    Attributes:
        size: How many runs a call has at most, 1 to 10,000.
        wait: How long its first run waits for others at most: seconds, a ``timedelta``, or a text such as ``"200ms"``,
            up to a minute.

    Raises:
        ValueError: names the value that cannot be.
    """

    size: int
    wait: Seconds

    def __post_init__(self) -> None:
        """Refuse an invalid value."""
        if not _is_number(self.size) or self.size > MOST_OF_A_BATCH:
            raise ValueError(f"batch: size must be a whole number from 1 to {MOST_OF_A_BATCH:,}, got {self.size!r:.60}")
        if not 0 <= self.seconds <= LONGEST_WAIT_OF_A_BATCH:
            raise ValueError(f"batch: wait must be at most {LONGEST_WAIT_OF_A_BATCH:.0f} s, got {self.wait!r:.60}")

    @property
    def seconds(self) -> float:
        """The time to wait in seconds."""
        if isinstance(self.wait, str) and self.wait.strip().endswith("ms"):
            try:
                return float(self.wait.strip().removesuffix("ms")) / 1000
            except ValueError:
                raise ValueError(f"batch: wait must be a duration such as '200ms', got {self.wait!r:.60}") from None
        try:
            return length("batch: wait", self.wait)
        except InvalidInput as error:
            raise ValueError(error.message) from None


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def reuse_of(value: object) -> Reuse | None:
    """Return the meaning of ``reuse=`` at a job: a number of runs, an age, or both in a ``Reuse``.

    Raises:
        ValueError: it is none of these.
    """
    match value:
        case None | Reuse():
            return value
        case timedelta():
            return Reuse(age=value)
        case int() if not isinstance(value, bool):
            return Reuse(runs=value)
        case _:
            raise ValueError(f"reuse: must be a number of runs, a timedelta or a Reuse, got {value!r:.60}")


class Backoff(StrEnum):
    """Choose the growth of the delay before a retry: doubled each time, by itself each time, none."""

    EXPONENTIAL = "exponential"
    LINEAR = "linear"
    CONSTANT = "constant"


_WORDS: Final[Mapping[str, type[StrEnum]]] = {
    "priority": Priority,
    "overlap": OverlapPolicy,
    "misfire": MisfirePolicy,
    "backoff": Backoff,
}
_SECONDS: Final = ("retry_delay", "timeout", "max_duration", "ttl", "keep")
_DEFAULTS: Final = tuple(one.name for one in fields(JobDefaults))


@dataclass(frozen=True, slots=True)
class JobPolicies:
    """Hold the policies that ``@job`` declares for the runs of a job.

    Attributes:
        defaults: The published form: a task or an enqueue may say otherwise.
        backoff: How the delay before a retry grows; a function takes the number of failures (1, 2, …).
        retry_on: Only these exceptions are retried; empty = any.
        give_up_on: These exceptions fail the run at once.
        unique_key: The function that makes a run's key of its arguments, if only a function can.
    """

    defaults: JobDefaults = NO_DEFAULTS
    backoff: Backoff | Callable[[int], float | timedelta] = Backoff.EXPONENTIAL
    retry_on: tuple[type[BaseException], ...] = ()
    give_up_on: tuple[type[BaseException], ...] = ()
    unique_key: KeyFunction | None = None

    def gives_up(self, error: BaseException) -> bool:
        """Return whether this exception fails the run at once."""
        if isinstance(error, self.give_up_on):
            return True
        return bool(self.retry_on) and not isinstance(error, self.retry_on)

    def delay(self, failures: int, base: float) -> float | None:
        """Return the seconds before the retry after so many failures (1, 2, …), at most an hour if no function says so.

        None = as by default, doubled each time.

        Raises:
            ValueError: the function returned no duration, or one of more than ten years.
            Exception: as the function raises.
        """
        match self.backoff:
            case Backoff.EXPONENTIAL:
                return None
            case Backoff.LINEAR:
                return min(MAX_RETRY_DELAY, base * failures)
            case Backoff.CONSTANT:
                return min(MAX_RETRY_DELAY, base)
            case function:
                return _returned(function(failures))


NO_POLICIES: Final = JobPolicies()


def _returned(delay: object) -> float:
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= MAX_SECONDS:
        raise ValueError(f"backoff: must return from 0 seconds to ten years, or such a timedelta, got {delay!r:.60}")
    return float(seconds)


def policies_of(options: Mapping[str, Any]) -> JobPolicies:
    """Return the policies that options of ``@job`` say.

    Raises:
        InvalidInput: the first wrong one.
    """
    values: dict[str, Any] = {name: _value(name, value) for name, value in options.items()}
    for fault in _faults(values):
        raise fault
    return JobPolicies(
        defaults=JobDefaults(**{name: values[name] for name in _DEFAULTS if name in values}),
        backoff=values.get("backoff", Backoff.EXPONENTIAL),
        retry_on=_exceptions("retry_on", values.get("retry_on", ())),
        give_up_on=_exceptions("give_up_on", values.get("give_up_on", ())),
        unique_key=values.get("unique_key_function"),
    )


def _value(name: str, value: object) -> object:
    if name in _SECONDS:
        return seconds_of(name, value)
    if name == "backoff" and callable(value) and not isinstance(value, str):
        check_takes(value, "backoff", "the number of failures")
    if name in _WORDS and not (name == "backoff" and callable(value)):
        return _word(name, value, _WORDS[name])
    return value


def _word(name: str, value: object, words: type[StrEnum]) -> StrEnum:
    """Return a word of an enumeration, in upper or lower case."""
    try:
        return words(str(value).lower())
    except ValueError:
        allowed = ", ".join(f"'{one.value}'" for one in words)
        other = " or a function" if name == "backoff" else ""
        raise InvalidInput(f"{name}: must be one of {allowed}{other}, got {value!r:.60}") from None


def _faults(values: Mapping[str, Any]) -> Iterator[InvalidInput]:
    if "group" in values:
        yield from name_faults(values["group"], "group")
    if "on_failure" in values:
        yield from name_faults(values["on_failure"], "on_failure")
    for option in ("on_expired", "on_cancel"):
        if option in values:
            yield from name_faults(values[option], option)
    yield from ttl_faults(values.get("ttl"))
    yield from keep_faults(values.get("keep"))
    times = values.get("timeout"), values.get("max_duration")
    yield from attempt_faults(values.get("retries", 0), values.get("retry_delay", 0.0), *times)


def _exceptions(name: str, given: Any) -> tuple[type[BaseException], ...]:  # noqa: ANN401 - anything
    several: Sequence[object] = cast("Sequence[object]", given) if isinstance(given, list | tuple) else (given,)
    wrong: list[object] = [one for one in several if not (isinstance(one, type) and issubclass(one, BaseException))]
    if wrong:
        raise InvalidInput(f"{name}: must be exception classes, e.g. (TimeoutError, OSError), got {wrong[0]!r:.60}")
    return tuple(cast("Sequence[type[BaseException]]", several))


_OF_TASKS = frozenset({Condition.LATE, Condition.OVERDUE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """An alarm of a job: ``@job(alarms=[Alarm(failing=3, channels=["ops"])])``. It has exactly one condition.

    ``late``, ``due_by`` and ``overdue`` are about the task of the job's schedule, the others about all runs of the job.

    Attributes:
        late: An occurrence starts so much late, or is missed.
        due_by: An occurrence is not done by this time of day in the zone of the schedule: ``"06:00"``.
        overdue: An occurrence is not done so long after it was due.
        slow: An execution takes longer; ``"3x"`` is three times its p95.
        failing: So many runs in a row fail; ``"50% of 20"`` is 10 of the last 20.
        new_error: A run fails with an error that the job has not had for so long.
        empty: An execution succeeds with fewer records; True is 1.
        channels: The names of the channels that it notifies.
        severity: ``"info"``, ``"warning"`` or ``"critical"``.
        name: Its unique name; unless given, that of the job and of the condition: ``billing-late``.
        description: Its purpose, for people.

    Raises:
        InvalidInput: it has no condition, several, or one that cannot be.
    """

    late: Seconds | None = None
    due_by: str | None = None
    overdue: Seconds | None = None
    slow: Seconds | None = None
    failing: int | str | None = None
    new_error: Seconds | None = None
    empty: int | None = None
    channels: str | Sequence[str] = ()
    severity: Severity | str = Severity.WARNING
    name: str | None = None
    description: str = ""

    def __post_init__(self) -> None:
        """Refuse an alarm that cannot be."""
        self.of_job("job", is_scheduled=True)

    def of_job(self, job: str, *, is_scheduled: bool) -> AlarmSpec:
        """Return the alarm as it is stored for a job.

        Raises:
            InvalidInput: it cannot be.
            ValueError: it is about a schedule, and the job has none; or severity or channels are none.
        """
        condition, settings = condition_of({word: getattr(self, word) for word in _ALARM_WORDS}, _ALARM_WORDS)
        if condition in _OF_TASKS and not is_scheduled:
            raise ValueError(f"{condition.value}: is about the occurrences of a schedule; add schedule=… to the job")
        if self.severity not in tuple(Severity):
            words = ", ".join(f"'{one.value}'" for one in Severity)
            raise ValueError(f"severity: must be one of {words}, got {self.severity!r:.60}")
        if not isinstance(self.channels, str | list | tuple):
            raise ValueError(  # noqa: TRY004 - one fault among others
                f"channels: must be names of channels, e.g. ('ops',), got {self.channels!r:.60}"
            )
        spec = AlarmSpec(
            name=f"{job}-{condition.value.replace('_', '-')}" if self.name is None else self.name,
            condition=condition,
            subject_kind=SubjectKind.TASK if condition in _OF_TASKS else SubjectKind.JOB,
            subject=job,
            settings=settings,
            channels=(self.channels,) if isinstance(self.channels, str) else tuple(self.channels),
            severity=Severity(self.severity),
            description=self.description,
        )
        refuse(alarm_faults(spec))
        return spec


_ALARM_WORDS: Final = tuple(word for word in WORDS if word in Alarm.__annotations__)
"""The words of the conditions that a job can have."""


def alarms_of(job: str, declared: object, *, is_scheduled: bool) -> tuple[AlarmSpec, ...]:
    """Return the alarms that ``@job`` was given.

    Raises:
        ValueError: one of them cannot be, or two have the same name.
    """
    several: list[Any] = [*declared] if isinstance(declared, list | tuple) else [declared]
    wrong = [one for one in several if not isinstance(one, Alarm)]
    if wrong:
        raise ValueError(f"alarms: must be alarms such as Alarm(failing=3), got {wrong[0]!r:.60}")
    specs = tuple(one.of_job(job, is_scheduled=is_scheduled) for one in several)
    names = [one.name for one in specs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"alarms: two are called '{twice}'; give one of them a name: Alarm(…, name='{twice}-2')")
    return specs
