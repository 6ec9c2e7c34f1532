"""Import a project in its own Python, and describe its calls and times; ``libraries`` reads its schedules.

Both are copied to where that Python finds them. They start no scheduler and open no connection to a broker.
"""

# The libraries have no types, and they are those of the project.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import inspect
import math
import os
import re
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from importlib import import_module
from itertools import islice
from typing import Any

Times = Callable[[int, int], Iterable[int]]
"""(since, until) -> the seconds of the epoch in between at which a schedule is due, in order."""
Entry = dict[str, Any]
Found = tuple[str, str, Callable[[], Entry]]
"""Place and name of a schedule, and a function that describes it."""

MOST = 400
"""Times of a schedule that are compared one by one; beyond them only those around changes of the clock."""
AROUND = 5400
"""Seconds before and after a change of the clock."""
MOST_BITS = 900
"""Bits of a number: files of tasks hold numbers of up to 300 characters."""
IMPORT_SECONDS = 60
SECONDS_AFTER_START = 3
"""Seconds for which the import goes on after the project started its scheduler."""


class RefusedError(Exception):
    """The project cannot be read; the message says why in one line."""


class UnsaidError(Exception):
    """One schedule cannot be carried; the message says why."""


class StillImportingError(BaseException):
    """The import goes on too long, as a script does that waits for its scheduler."""


# Times --------------------------------------------------------------------------------------------------------------


def windows(times: Times, zone: tzinfo, start: int, end: int) -> list[tuple[int, int, list[int]]]:
    """Return (since, until, times) from ``start`` on, and around changes of the clock if there are too many times."""
    found = list(islice(times(start, end), MOST))
    if len(found) < MOST:
        return [(start, end, found)]
    around = [(at - AROUND, at + AROUND) for at in clock_changes(zone, start, end)]
    return [(start, found[-1], found), *((low, high, list(times(low, high))) for low, high in around)]


def clock_changes(zone: tzinfo, start: int, end: int) -> Iterator[int]:
    """Yield the instants at which the clock of a zone is changed."""

    def offset(at: int) -> timedelta | None:
        return datetime.fromtimestamp(at, zone).utcoffset()

    for day in range(start, end, 86_400):
        low, high = day, day + 86_400
        if offset(low) == offset(high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == offset(low) else (low, middle)
        yield high


def stepped(following: Callable[[datetime], datetime | None]) -> Times:
    """Return the times of a function that finds the next one after an aware time."""

    def times(since: int, until: int) -> Iterator[int]:
        at = datetime.fromtimestamp(since, timezone.utc)
        while (found := following(at)) is not None and found.timestamp() <= until:
            if found <= at:
                raise UnsaidError("the library names the same time again and again")
            at = found.astimezone(timezone.utc)
            yield int(at.timestamp())

    return times


def _zone_name(zone: tzinfo | None) -> str:
    """Return the name of a zone of any library: zoneinfo, pytz, dateutil or of fixed hours."""
    if zone is None or zone == timezone.utc:
        return "UTC"
    name = getattr(zone, "key", None) or getattr(zone, "zone", None) or ""
    file = re.search(r"zoneinfo/(.+)", str(getattr(zone, "_filename", "")))
    # Zones of fixed hours say them for no time at all.
    offset = zone.utcoffset(None)
    hours = 0.5 if offset is None else offset / timedelta(hours=1)
    if not name and file:
        name = file[1]
    elif not name and hours.is_integer():
        name = f"Etc/GMT{-int(hours):+d}" if hours else "UTC"
    if not name:
        raise UnsaidError(f"its time zone {zone!r} has no name")
    return str(name)


def local_zone() -> tzinfo:
    """Return the zone of the machine, which a project may have changed."""
    zone: tzinfo = import_module("zoneinfo").ZoneInfo(os.environ["TZ"])
    return zone


# Calls --------------------------------------------------------------------------------------------------------------


def called(function: Any, args: Any, kwargs: Any, name: str = "") -> Entry:  # noqa: ANN401 - of any library
    """Return a call as JSON holds it: module and dotted name, the arguments, the names of the parameters, and notes.

    Raises:
        UnsaidError: it has no name to import, or an argument that JSON does not hold.
    """
    notes: list[str] = []
    module = name.rpartition(".")[0]
    if not name:
        qualified = getattr(function, "__qualname__", "")
        if not qualified or "<" in qualified or not callable(function):
            raise UnsaidError(f"its function {qualified or type(function).__name__} has no name that can be imported")
        if inspect.ismethod(function) and not inspect.isclass(function.__self__):
            raise UnsaidError(f"its function {qualified} is a method of an object that only the project has")
        module, name = function.__module__, f"{function.__module__}.{qualified}"
    parameters: list[str] = []
    if function is not None:
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        try:
            parameters = [one.name for one in inspect.signature(function).parameters.values() if one.kind in kinds]
        except (TypeError, ValueError):
            notes.append(f"The parameters of {name} are not known.")
    given = [_plain(one, notes) for one in args or ()]
    return {
        "function": name, "module": module, "args": given, "kwargs": _plain(dict(kwargs or {}), notes),
        "parameters": parameters, "is_coroutine": inspect.iscoroutinefunction(function), "notes": notes,
    }  # fmt: skip


def _plain(value: Any, notes: list[str]) -> Any:  # noqa: ANN401 - any value
    """Return a value as JSON holds it, and note the changes."""
    if isinstance(value, (tuple, set, frozenset)):
        if "A tuple or set among its arguments is a list here." not in notes:
            notes.append("A tuple or set among its arguments is a list here.")
        value = list(value)
    if isinstance(value, list):
        return [_plain(one, notes) for one in value]
    if isinstance(value, dict) and all(type(key) is str for key in value):
        return {key: _plain(one, notes) for key, one in value.items()}
    if value is None or _is_plain(value):
        return value
    raise UnsaidError(f"the argument {_shown(value)} is no plain value")


def _is_plain(value: Any) -> bool:  # noqa: ANN401 - any value
    """Return whether JSON and a file of tasks hold a value that is neither a list nor an object."""
    if type(value) is str:
        return "\0" not in value and not any("\ud800" <= one <= "\udfff" for one in value)
    if type(value) is int:
        return value.bit_length() < MOST_BITS
    return type(value) is bool or (type(value) is float and math.isfinite(value))


def _shown(value: Any) -> str:  # noqa: ANN401 - any value
    if isinstance(value, int) and value.bit_length() >= MOST_BITS:
        return f"of {value.bit_length()} bits"
    return f"{value!r:.60}"


def _setting(value: Any) -> Any:  # noqa: ANN401 - of any library
    """Return a setting as JSON holds it: the seconds of a time span, the name of a queue."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    name = getattr(value, "name", None)
    return name if type(name) is str else value


def unused(options: dict[str, Any]) -> list[str]:
    """Return a note for each option that is set."""
    return [
        f"{name}={_shown(value)} is not carried."
        for name, value in options.items()
        if value not in (None, False, (), {})
    ]


def seconds(value: Any) -> float:  # noqa: ANN401 - of any library
    """Return the seconds of a time span of any library."""
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


# The project --------------------------------------------------------------------------------------------------------


def recorded(module: str, name: str, *stopped: str) -> list[Any] | None:
    """Return a list that keeps every instance of a class; their methods that would start something do nothing."""
    try:
        cls: Any = getattr(import_module(module), name)
    except ImportError:
        return None
    found: list[Any] = []
    original = cls.__init__

    def keeping(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as the original
        original(self, *args, **kwargs)
        found.append(self)
        for method in stopped:
            setattr(self, method, lambda *_args, **_kwargs: started())

    cls.__init__ = keeping
    return found


def started() -> None:
    """End the import soon: a script that has started its scheduler may wait for ever."""
    alarm(SECONDS_AFTER_START)


def alarm(seconds_left: int) -> None:
    """Cut the import off after this many seconds; 0 = never."""
    if hasattr(signal, "alarm"):
        signal.signal(signal.SIGALRM, _ended)
        signal.alarm(seconds_left)


def _ended(_number: int, _frame: Any) -> None:  # noqa: ANN401 - a frame
    raise StillImportingError


def imported(spec: str, notes: list[str]) -> None:
    """Import the module that ``--app`` names; note it if the project started a scheduler and waited for it."""
    name, _, attribute = spec.partition(":")
    try:
        module = import_module(name)
    except StillImportingError:
        notes.append(f"The import of {name} did not end and was cut off: schedules added later are not read.")
    else:
        if attribute and not hasattr(module, attribute):
            raise RefusedError(f"the module {name} has no '{attribute}'")
    alarm(0)


def entry_of(place: str, name: str, make: Callable[[], Entry], start: int, end: int) -> Entry:
    """Return a schedule as JSON holds it, or the reason why it is left out."""
    try:
        made = make()
        zone, times = made.pop("zone", None), made.pop("times", None)
        if times is not None:
            made |= {"zone": _zone_name(zone), "windows": windows(times, zone, start, end)}
        if "cron" in made:
            made["cron"] = {key: one if isinstance(one, bool) else sorted(one) for key, one in made["cron"].items()}
        settings = {key: _setting(value) for key, value in made["settings"].items() if value is not None}
        made["settings"] = {key: value for key, value in settings.items() if _is_plain(value)}
        made["notes"] = [*made["notes"], *unused({key: one for key, one in settings.items() if not _is_plain(one)})]
    except Exception as error:  # noqa: BLE001 - a fault of one schedule leaves the others
        made = {"why": str(error) if isinstance(error, UnsaidError) else f"{type(error).__name__}: {error}"}
    return {"place": place, "name": name, **made}


def fault(error: BaseException, spec: str) -> str:
    """Return one line about an import that failed, with the place in the project."""
    if isinstance(error, RefusedError):
        return str(error)
    if isinstance(error, StillImportingError):
        return f"the import of {spec} takes longer than {IMPORT_SECONDS} s"
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith("<")]
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return " ".join(f"the import of {spec} failed: {type(error).__name__}: {error}{place}".split())
