"""What the readers of Python sources share: intervals, functions and their arguments."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, cast

from ....jobs.core.model import ScheduleSpec
from ....jobs.core.schedule import Syntax
from ..base.model import Call, Carried, plain_name
from ..dialects.expressions import schedules_of
from ..dialects.fields import DialectError, Fields
from .source import Called, Reference, Source

FROM_THE_START: Final = "it counts from the start of its process there, and from the making of the task here"


@dataclass(frozen=True, slots=True)
class When:
    """When something is due.

    Attributes:
        schedules: Here.
        fields: There; None where that cannot be computed.
        why: Why not.
    """

    schedules: Sequence[ScheduleSpec]
    fields: Fields | None = None
    why: str = ""

    @classmethod
    def by_fields(cls, fields: Fields, zone: str) -> "When":
        """By fields of a cron."""
        return cls(schedules_of(fields, zone), fields)

    @classmethod
    def each(cls, span: object) -> "When":
        """Again and again after a time span or so many seconds.

        Raises:
            DialectError: it is less than a second.
        """
        seconds = span.total_seconds() if isinstance(span, timedelta) else span
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise DialectError(f"{shown(span)} is no interval that is known before the program runs")
        if seconds < 1:
            raise DialectError(f"an interval is at least one second here, got {seconds:g}")
        return cls([ScheduleSpec(Syntax.INTERVAL, f"{f'{seconds:f}'.rstrip('0').rstrip('.')}s")], why=FROM_THE_START)

    @classmethod
    def once(cls, at: object) -> "When":
        """At one time.

        Raises:
            DialectError: it is not known, or has no zone.
        """
        if not isinstance(at, datetime):
            raise DialectError(f"{shown(at)} is no time that is known before the program runs")
        if at.tzinfo is None:
            raise DialectError(f"{at.isoformat()} has no zone; write one, e.g. '{at.isoformat()}Z'")
        return cls([ScheduleSpec(Syntax.TIMESTAMP, at.isoformat())], why="it is due once")


@dataclass(frozen=True, slots=True)
class Target:
    """What a schedule runs.

    Attributes:
        function: Its dotted name.
        args: By place.
        method: What of it is called.
        notes: What is otherwise here.
        settings: Fields of the task.
    """

    function: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    method: str = ""
    notes: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


def carried(
    place: str, text: str, name: str, when: When, target: Target, known: Mapping[str, Sequence[str]]
) -> Carried:
    """A call as a task of the job that has the function's name.

    Args:
        place: Where it is.
        text: The text itself.
        name: Of the task.
        when: It is due.
        target: It runs.
        known: The parameters of functions, by the last part of their names.

    Raises:
        DialectError: an argument is no plain value.
    """
    for value in (*target.args, *target.kwargs.values()):
        check_plain(value)
    last = target.function.rpartition(".")[2]
    parameters = known.get(last, ())
    notes = list(target.notes)
    if len(parameters) < len(target.args):
        notes.append("Its arguments are given by place: write their names into the task, or write a jobs module.")
    named = dict(zip(parameters, target.args, strict=False))
    if not target.function.rpartition(".")[0]:
        notes.append(f"The module of '{target.function}' is not known: correct the import.")
    return Carried(
        name=plain_name(name),
        place=place,
        text=text,
        schedules=when.schedules,
        times=None if when.fields is None else when.fields.after,
        job=last,
        args={**named, **target.kwargs},
        call=Call(target.function, target.args, target.kwargs, parameters, target.method),
        settings=target.settings,
        notes=notes,
        uncompared=when.why,
    )


def check_plain(value: Any) -> None:  # noqa: ANN401 - anything that a source can say
    """Let pass what JSON can hold.

    Raises:
        DialectError: names what it cannot.
    """
    if isinstance(value, list | set):
        for one in cast("Iterable[Any]", value):
            check_plain(one)
    elif isinstance(value, dict):
        table = cast("Mapping[Any, Any]", value)
        check_plain([*table, *table.values()])
    elif not isinstance(value, str | int | float | None):
        raise DialectError(f"the argument {shown(value)} is no plain value")


def shown(value: Any) -> str:  # noqa: ANN401 - anything that a source can say
    """A value in a sentence."""
    if isinstance(value, Called):
        return f"{value.function.name}(…)"
    return value.name if isinstance(value, Reference) else repr(value)[:80]


def parameters_in(sources: Iterable[Source]) -> dict[str, list[str]]:
    """The parameters of all functions, those that are given by the program itself left out."""
    return {
        name: [one for one in parameters if one not in ("self", "ctx")]
        for source in sources
        for name, parameters in source.parameters.items()
    }


def seconds_of(settings: Mapping[str, Any], **fields: str) -> dict[str, Any]:
    """Fields of a task that hold numbers: ``timeout="job_timeout"``; what is no number is left out."""
    found = {mine: settings.get(theirs) for mine, theirs in fields.items()}
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


def with_notes(target: Target, *notes: str) -> Target:
    """A target with further notes."""
    return replace(target, notes=[*target.notes, *notes])
