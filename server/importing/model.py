"""Describe the schedules in the files of another program, and the tasks they become."""

import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from ...jobs.core.model import ScheduleSpec, TaskSpec
from ...jobs.core.rules import task_faults
from ..task_files.model import TaskOfFile

BLANKS: Final = " \t\r\n"
"""The blanks of cron and systemd. Python knows more: bytes such as 0x85 and 0xA0 of Latin-1, which are text there."""
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


class UnsaidError(ValueError):
    """One schedule cannot be carried; the message says why."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a Python function.

    Attributes:
        function: Its dotted name, module included.
        module: The module; the rest of the name may be in a class.
        args: Its arguments by place.
        method: The method of the function that is called: ``call_local``, or none.
        is_coroutine: Whether the call has to be awaited.
    """

    function: str
    module: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    method: str
    is_coroutine: bool


@dataclass(frozen=True, slots=True)
class Carried:
    """A schedule that becomes one task or several.

    Attributes:
        name: The name of the task; further ones get a number.
        place: File and line, or the project and its schedule.
        text: The schedule as it is written there.
        schedules: When it is due here; several only if one cannot say it, and then no two at once.
        windows: (since, until, times) in seconds of the epoch: when it is due there. None if that cannot be computed.
        job: The job that it runs here.
        call: The function that it calls, of a Python program.
        settings: Further fields of the task, as in a file of tasks.
        notes: The differences between there and here, one sentence each.
        uncompared: Why its times are not compared.
    """

    name: str
    place: str
    text: str
    schedules: Sequence[ScheduleSpec] = ()
    windows: Sequence[tuple[int, int, Sequence[int]]] | None = None
    job: str = "shell"
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    call: Call | None = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    notes: Sequence[str] = ()
    uncompared: str = ""

    @property
    def tasks(self) -> list[tuple[str, ScheduleSpec]]:
        """The names and schedules of its tasks: the second is for the weekdays of "this day or this weekday"."""
        names = [self.name, *(f"{self.name}-part-{number}" for number in range(2, len(self.schedules) + 1))]
        return list(zip(names, self.schedules, strict=True))


@dataclass(frozen=True, slots=True)
class AtStart:
    """A command that is due when something starts: there the machine or its scheduler, here a node.

    Attributes:
        args: The arguments of the job ``shell``.
        delay: Seconds after the start.
    """

    place: str
    text: str
    args: Mapping[str, Any]
    delay: float = 0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A schedule that becomes nothing, and the reason."""

    place: str
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Import:
    """All that was found.

    Attributes:
        program: The program whose schedules they are.
        carried: With names that are all different.
        notes: Differences that hold for all of them, one sentence each.
        at_start: Commands that begin with a node.
    """

    program: str
    carried: Sequence[Carried]
    left_out: Sequence[LeftOut]
    notes: Sequence[str]
    at_start: Sequence[AtStart] = ()

    @classmethod
    def of(
        cls, program: str, found: Iterable[Carried | AtStart | LeftOut], general: Sequence[str], notes: Sequence[str]
    ) -> "Import":
        """Sort the schedules into carried, left-out and start-up ones, and give each task a name of its own.

        Args:
            general: The notes about the program, which matter if there is a schedule.
            notes: Those about these files or this project.
        """
        several = list(found)
        taken: set[str] = set()
        carried: list[Carried] = []
        for one in several:
            if isinstance(one, Carried):
                fitting = _fitting(one)
                named, number = fitting, 2
                while not taken.isdisjoint(name for name, _ in named.tasks):
                    named, number = replace(fitting, name=f"{one.name}-{number}"), number + 1
                taken |= {name for name, _ in named.tasks}
                carried.append(named)
        left_out = [one for one in several if isinstance(one, LeftOut)]
        at_start = [one for one in several if isinstance(one, AtStart)]
        return cls(program, carried, left_out, [*(general if several else ()), *notes], at_start)


def _fitting(one: Carried) -> Carried:
    """Return a schedule without the settings that a task cannot have; a note says of each why."""
    settings, notes = dict(one.settings), [*one.notes]
    lost = _misfits(one, settings)
    while lost:
        notes += [f"{name}={settings.pop(name)!r:.60} is not carried: {why}." for name, why in lost.items()]
        lost = _misfits(one, settings)
    return replace(one, settings=settings, notes=notes)


def _misfits(one: Carried, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that a task cannot have, with the reasons."""
    try:
        given = TaskOfFile.model_validate({"job": one.job, **settings}).wanted(one.name).settings
    except ValidationError as error:
        return {str(fault["loc"][0]): fault["msg"] for fault in error.errors(include_url=False)}
    spec = replace(TaskSpec(one.name, one.job, one.schedules[0]), **given)
    faults = {re.sub("[A-Z]", lambda big: f"_{big[0].lower()}", one.path[0]): one.message for one in task_faults(spec)}
    return {name: why for name, why in faults.items() if name in settings}


def plain_name(text: str) -> str:
    """Return a name of a task that is near to a text."""
    return _NO_NAME.sub("-", text).strip("-.")[:100] or "task"


def text_of(path: Path, notes: list[str] | None = None) -> str:
    """Return the text of a file: as UTF-8 or UTF-16, else as Latin-1, which is noted, as other programs read bytes.

    Raises:
        UnsaidError: it is no text.
    """
    if path.resolve() == Path(os.devnull):
        raise UnsaidError("it is masked")
    data = path.read_bytes()
    is_wide = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError:
        text = "\0" if is_wide else data.decode("latin-1")
        if notes is not None and "\0" not in text:
            notes.append(f"{path} is not UTF-8; it was read as Latin-1.")
    if "\0" in text:
        raise UnsaidError("it is no text")
    return text


def variables(given: Mapping[str, str], notes: list[str]) -> dict[str, str]:
    """Return the variables that the job ``shell`` takes, and note the others."""
    odd = sorted(name for name in given if not _VARIABLE.fullmatch(name))
    notes += [f"The variable '{name}' is not carried: the job `shell` takes letters, digits and _." for name in odd]
    return {name: value for name, value in given.items() if name not in odd}
