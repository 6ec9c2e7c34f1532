"""``@job(alarms=…)``: the alarms that the code of a job declares."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..core.alarms import WORDS, AlarmSpec, Condition, Severity, SubjectKind, alarm_faults, condition_of
from ..core.base.errors import refuse
from ..core.run_spec import Seconds

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
        condition, settings = condition_of({word: getattr(self, word) for word in _WORDS}, _WORDS)
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


_WORDS: Final = tuple(word for word in WORDS if word in Alarm.__annotations__)
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
