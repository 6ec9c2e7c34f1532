"""What was found in the files of another program, and what it becomes here."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias

from ....jobs.core.model import ScheduleSpec

Times: TypeAlias = Callable[[datetime, datetime], Iterator[datetime]]
"""(after, until) -> the instants at which the other program would have begun it, in UTC, in order."""

NEXT: Final = 10
"""How many times a report shows."""
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a Python function.

    Attributes:
        function: Its dotted name, module included.
        args: By place.
        parameters: The names of its parameters, as far as they are known.
        method: What of it is called, where it is not the function itself: ``call_local``.
    """

    function: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    parameters: Sequence[str] = ()
    method: str = ""


@dataclass(frozen=True, slots=True)
class Carried:
    """A line that becomes one task or several.

    Attributes:
        name: Of the task; further ones get a number.
        place: Where it is: file and line.
        text: As it is written there.
        schedules: When it is due here; several only where one cannot say it, and then no two at once.
        times: When it would have begun there; None where that cannot be computed, which ``uncompared`` explains.
        job: The job it runs here.
        args: Its arguments.
        call: What it calls, of a Python program.
        settings: Further fields of the task, as files of tasks have them.
        notes: What is otherwise here, one sentence each.
        uncompared: Why its times are not compared.
        known: How many times there can be computed; 0 = any number.
    """

    name: str
    place: str
    text: str
    schedules: Sequence[ScheduleSpec] = ()
    times: Times | None = None
    job: str = "shell"
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    call: Call | None = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    notes: Sequence[str] = ()
    uncompared: str = ""
    known: int = 0


@dataclass(frozen=True, slots=True)
class AtStart:
    """A line that is due when something starts: there the machine or its scheduler, here a node.

    Attributes:
        place: Where it is.
        text: As it is written there.
        args: The arguments of the job ``shell``.
        delay: Seconds after the start.
    """

    place: str
    text: str
    args: Mapping[str, Any]
    delay: int = 0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line that becomes nothing."""

    place: str
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Import:
    """All that was found.

    Attributes:
        program: Whose files they are.
        carried: With names that are all different.
        left_out: What could not be carried.
        notes: What holds for all of them, one sentence each.
        at_start: What begins with a node.
    """

    program: str
    carried: Sequence[Carried]
    left_out: Sequence[LeftOut]
    notes: Sequence[str]
    at_start: Sequence[AtStart] = ()


def plain_name(text: str) -> str:
    """A name of a task that is near to a text."""
    return _NO_NAME.sub("-", text).strip("-.")[:100] or "task"
