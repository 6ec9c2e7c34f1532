"""Timers of systemd, with the services that they start."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ....jobs.core.model import ScheduleSpec
from ....jobs.core.schedule import ScheduleError, Syntax, parse
from ..base.model import NEXT, AtStart, Carried, LeftOut, Times, plain_name
from ..dialects.fields import DialectError

NOTES: Final = (
    "The job `shell` is there only on nodes with the setting `shell = true`, and runs as the user of the server.",
    "systemd does not start a service that still runs; here the task skips that occurrence, and says so.",
    "AccuracySec is not needed: tasks are begun within the second.",
)
_SPAN: Final = re.compile(r"(\d+)\s*([a-zA-Zµ]*)")
_UNITS: Final = {
    "": 1, "s": 1, "sec": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "minute": 60, "minutes": 60, "h": 3600,
    "hr": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400, "w": 604800, "week": 604800,
    "weeks": 604800,
}  # fmt: skip
_FROM_START: Final = ("OnBootSec", "OnStartupSec", "OnActiveSec")
_LOST: Final = ("EnvironmentFile", "ExecStartPre", "ExecStartPost", "ExecStopPost", "OnFailure", "Restart", "User")
_REPEATED: Final = ("OnUnitActiveSec", "OnUnitInactiveSec")
_ELAPSE: Final = re.compile(r"(?:Next elapse|Iter\. #\d+|\(in UTC\)): \w+ ([\d-]+ [\d:]+) (\S+)")

Unit = Mapping[str, Sequence[str]]
"""Key of a unit -> its values, in order; an empty one has cleared those before."""


def read(path: Path, text: str, zone: str) -> Iterator[Carried | AtStart | LeftOut]:
    """What a file ``.timer`` becomes; its service is looked for next to it."""
    timer = unit_of(text)
    service_name = timer.get("Unit", [f"{path.stem}.service"])[-1]
    service_path = path.with_name(service_name)
    try:
        service = unit_of(service_path.read_text(encoding="utf-8"))
    except OSError as error:
        yield LeftOut(str(path), path.name, f"its service {service_name} cannot be read: {error.strerror}")
        return
    args, settings, notes = _service(service)
    if not args:
        yield LeftOut(str(service_path), service_name, "has no ExecStart")
        return
    settings |= _policies(timer, notes)
    name = plain_name(path.stem)
    made = Carried(name, str(path), "", args=args, settings=settings, notes=notes)
    for value in timer.get("OnCalendar", ()):
        yield from _calendar(replace(made, text=f"OnCalendar={value}"), value, zone)
    for key in (*_REPEATED, *_FROM_START):
        for value in timer.get(key, ()):
            line = f"{key}={value}"
            if key in _REPEATED:
                spec = ScheduleSpec(Syntax.INTERVAL, f"{seconds(value)}s")
                why = "it counts from the last start or end of the service there, and on a fixed grid here"
                yield replace(made, text=line, schedules=[spec], uncompared=why)
            elif not any(timer.get(one) for one in _REPEATED):
                yield AtStart(str(path), line, args, seconds(value))


def unit_of(text: str) -> dict[str, list[str]]:
    """The settings of a unit, of all sections together."""
    found: dict[str, list[str]] = {}
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        key, equals, value = line.strip().partition("=")
        if not equals or key.startswith(("#", ";", "[")):
            continue
        values = found.setdefault(key.strip(), [])
        if value.strip():
            values.append(value.strip())
        else:
            values.clear()
    return found


def seconds(text: str) -> int:
    """Seconds of a time span, e.g. ``1h 30min``.

    Raises:
        DialectError: it is none, or less than a second.
    """
    found = _SPAN.findall(text)
    if not found or _SPAN.sub("", text).strip() or any(unit not in _UNITS for _, unit in found):
        raise DialectError(f"'{text}' is no time span that is understood")
    return sum(int(number) * _UNITS[unit] for number, unit in found)


def _service(service: Unit) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    notes: list[str] = []
    lines = [line.lstrip("@-:+!") for line in service.get("ExecStart", ())]
    if not lines:
        return {}, {}, []
    args: dict[str, Any] = {"command": shlex.split(lines[0]) if len(lines) == 1 else " && ".join(lines)}
    if any("$" in line or "%" in line for line in lines):
        notes.append(
            "ExecStart has `$` or `%`: systemd puts variables and specifiers in their place, `shell` does not."
        )
    if folder := service.get("WorkingDirectory"):
        args["directory"] = folder[-1].lstrip("-")
    if variables := [word for value in service.get("Environment", ()) for word in shlex.split(value)]:
        args["environment"] = {name: value for name, _, value in (word.partition("=") for word in variables)}
    if service["ExecStart"][0].startswith("-"):
        args["expected_status"] = list(range(256))
    settings: dict[str, Any] = {"description": service["Description"][-1]} if service.get("Description") else {}
    limit = service.get("RuntimeMaxSec") or service.get("TimeoutStartSec")
    if limit and limit[-1] != "infinity":
        settings["timeout"] = seconds(limit[-1])
    notes += [f"{key}={service[key][-1]} is not carried." for key in _LOST if service.get(key)]
    return args, settings, notes


def _policies(timer: Unit, notes: list[str]) -> dict[str, Any]:
    persistent = timer.get("Persistent", ["no"])[-1].lower() in ("1", "yes", "true", "on")
    settings: dict[str, Any] = {"misfire": "last" if persistent else "none"}
    if timer.get("RandomizedDelaySec"):
        settings["jitter"] = seconds(timer["RandomizedDelaySec"][-1])
        notes.append(
            "RandomizedDelaySec is another delay each time there; `jitter` is one delay that stays the task's."
        )
    return settings


def _calendar(carried: Carried, value: str, zone: str) -> Iterator[Carried | LeftOut]:
    last = value.rsplit(maxsplit=1)[-1]
    has_zone = last == "UTC" or (last[0].isalpha() and "/" in last)
    spec = ScheduleSpec(Syntax.CALENDAR, value, "UTC" if has_zone else zone)
    try:
        parse(spec.syntax, spec.value, spec.timezone)
    except ScheduleError as error:
        yield LeftOut(carried.place, carried.text, str(error))
        return
    times = times_of_systemd(value, zone)
    why = "" if times else "there is no systemd-analyze on this machine; CALENDAR is systemd's own syntax"
    yield replace(carried, schedules=[spec], times=times, known=NEXT, uncompared=why)


def times_of_systemd(value: str, zone: str) -> Times | None:
    """The next times of a calendar event by systemd itself; None where it is not installed."""
    program = shutil.which("systemd-analyze")
    if program is None:
        return None

    def times(after: datetime, until: datetime) -> Iterator[datetime]:
        base = after.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        answer = subprocess.run(  # noqa: S603 - a program of the system, by its whole path
            [program, "calendar", f"--iterations={NEXT}", f"--base-time={base}", value],
            env={**os.environ, "TZ": zone, "SYSTEMD_COLORS": "0", "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=False,
        )
        found = {
            datetime.strptime(f"{at}+0000", "%Y-%m-%d %H:%M:%S%z")
            for at, name in _ELAPSE.findall(answer.stdout)
            if name == "UTC"
        }
        yield from sorted(one for one in found if after < one <= until)

    return times
