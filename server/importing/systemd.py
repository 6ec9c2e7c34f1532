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

from ...jobs.core.model import ScheduleSpec
from ...jobs.core.rules import MAX_SECONDS
from ...jobs.core.schedule import ScheduleError, Syntax, parse
from ...jobs.core.schedule.zones import find_zone
from .fields import interval_of
from .model import BLANKS, AtStart, Carried, LeftOut, UnsaidError, plain_name, text_of, variables

NOTES: Final = (
    "The job `shell` is there only on nodes with the setting `shell = true`, and runs as the user of the server.",
    "systemd does not start a service that still runs; here the task skips that occurrence, and says so.",
    "AccuracySec is not needed: tasks are begun within the second.",
)
_LINE_END: Final = re.compile(r"\r\n?|\n")
_SPAN: Final = re.compile(r"\s*(?<![\d.])(\d+(?:\.\d*)?|\.\d+)(?!\.)\s*([a-zA-Zµμ]*)")
_UNITS: Final = {
    "us": 1e-6, "usec": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "msec": 1e-3, "": 1, "s": 1, "sec": 1, "second": 1,
    "seconds": 1, "m": 60, "min": 60, "minute": 60, "minutes": 60, "h": 3600, "hr": 3600, "hour": 3600, "hours": 3600,
    "d": 86_400, "day": 86_400, "days": 86_400, "w": 604_800, "week": 604_800, "weeks": 604_800, "M": 2_629_800,
    "month": 2_629_800, "months": 2_629_800, "y": 31_557_600, "year": 31_557_600, "years": 31_557_600,
}  # fmt: skip
_FROM_START: Final = ("OnBootSec", "OnStartupSec", "OnActiveSec")
_REPEATED: Final = ("OnUnitActiveSec", "OnUnitInactiveSec")
_TIMES: Final = ("OnCalendar", *_REPEATED, *_FROM_START)
_LOST: Final = (
    "EnvironmentFile", "ExecCondition", "ExecStartPre", "ExecStartPost", "ExecStop", "ExecStopPost", "OnFailure",
    "OnSuccess", "Restart", "User", "DynamicUser", "StandardInput", "StandardOutput", "SuccessExitStatus",
    "OnClockChange", "OnTimezoneChange", "RandomizedOffsetSec", "WakeSystem",
)  # fmt: skip
_PART: Final = re.compile(
    r"""(?:\\x[0-9a-fA-F]{2})+|\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.?)|["']|[ \t\r\n]+|[^\\"' \t\r\n]+"""
)
_ESCAPED: Final = re.compile(r"\\x([0-9a-fA-F]{2})")
_ESCAPES: Final = dict(zip("abfnrtvs\\\"'", "\a\b\f\n\r\t\v \\\"'", strict=True))
_NEXT: Final = 10
_FRACTION: Final = re.compile(r"(?<!\.)\.(?!\.)")
_ELAPSE: Final = re.compile(r"(?:Next elapse|Iter\. #\d+|\(in UTC\)): \w+ ([\d-]+ [\d:]+) (\S+)")

Unit = Mapping[str, Sequence[str]]
"""Key of a unit -> its values, in order; an empty one has cleared those before."""


def read(path: Path, text: str, zone: str, span: tuple[int, int]) -> Iterator[Carried | AtStart | LeftOut]:
    """Yield the schedules of a file ``.timer``; its service is looked for next to it."""
    try:
        timer = _with_drop_ins(path, text)
        made = _service_of(path, timer)
    except (UnsaidError, OSError) as error:
        yield LeftOut(str(path), path.name, str(error))
        return
    lines = [(key, value) for key in _TIMES for value in timer.get(key, ())]
    found = [_schedule_or_fault(made, key, value, zone, span) for key, value in lines]
    # A timer that repeats begins again at each start; here its grid goes on, one interval from now.
    repeats = any(key in _REPEATED and isinstance(one, Carried) for (key, _), one in zip(lines, found, strict=True))
    begun = [one for one in found if repeats and isinstance(one, AtStart)]
    lost = [f"{one.text} is not carried: an interval goes on across restarts." for one in begun]
    for (key, _), one in zip(lines, found, strict=True):
        if key in _REPEATED and isinstance(one, Carried):
            yield replace(one, notes=[*one.notes, *lost])
        elif one not in begun:
            yield one
    if not lines:
        yield LeftOut(str(path), path.name, "it has no schedule")


def _schedule_or_fault(
    made: Carried, key: str, value: str, zone: str, span: tuple[int, int]
) -> Carried | AtStart | LeftOut:
    line = f"{key}={value}"
    try:
        return _schedule(replace(made, text=line), key, value, zone, span)
    except (UnsaidError, ScheduleError) as error:
        return LeftOut(made.place, line, str(error))


def _schedule(made: Carried, key: str, value: str, zone: str, span: tuple[int, int]) -> Carried | AtStart:
    if key == "OnCalendar":
        return _calendar(made, value, zone, span)
    if key in _FROM_START:
        delay = seconds(value)
        if delay > MAX_SECONDS:
            raise UnsaidError(f"'{value}' is longer than a run waits here, which is ten years")
        return AtStart(made.place, made.text, made.args, delay)
    why = "it counts from the last start or end of the service there, and on a fixed grid here"
    return replace(made, schedules=[interval_of(seconds(value))], uncompared=why)


def _with_drop_ins(path: Path, text: str) -> Unit:
    """Return a unit with the additions of its folders ``.d``, and with its specifiers replaced."""
    folders = [path.parent] if path.parent.suffix not in (".wants", ".requires") else [path.parent.parent, path.parent]
    prefix, at, instance = path.stem.partition("@")
    names = [f"{path.name}.d", *([f"{prefix}@{path.suffix}.d"] if at and instance else [])]
    # Those of `a-b-c.timer` are in `a-b-.timer.d` and `a-.timer.d`, too, and those of all timers in `timer.d`.
    parts = prefix.split("-")
    names += [f"{'-'.join(parts[:count])}-{path.suffix}.d" for count in range(len(parts) - 1, 0, -1)]
    names.append(f"{path.suffix[1:]}.d")
    added: dict[str, Path] = {}
    for one in (one for name in names for folder in folders for one in sorted((folder / name).glob("*.conf"))):
        added.setdefault(one.name, one)  # of one name, that of the folder with the closest name counts
    texts = [text, *(text_of(one) for _, one in sorted(added.items()) if one.resolve() != Path(os.devnull))]
    found = unit_of("\n\n[]\n".join(texts))
    own = {"p": prefix, "j": prefix.rpartition("-")[2], "i": instance, "n": path.name, "N": path.stem, "%": "%"}
    own["I"] = _ESCAPED.sub(lambda code: chr(int(code[1], 16)), instance.replace("-", "/"))

    def filled(key: str, value: str) -> str:
        is_quoted = key.startswith(("Exec", "Environment"))
        known = {letter: one.replace("\\", "\\\\") if is_quoted else one for letter, one in own.items()}
        return re.sub("%(.)", lambda found: known.get(found[1], found[0]), value)

    return {key: [filled(key, one) for one in values] for key, values in found.items() if values}


def unit_of(text: str) -> dict[str, list[str]]:
    """Return the settings of a unit, of all sections that systemd reads; a line in a wrong section is ignored."""
    found: dict[str, list[str]] = {}
    begun = section = ""
    for line in (*_LINE_END.split(text), ""):
        if line.lstrip(BLANKS).startswith(("#", ";")):
            continue  # also between the lines of a value
        begun += line
        if begun.endswith("\\"):
            begun = f"{begun[:-1]} "
            continue
        key, equals, value = (part.strip(BLANKS) for part in begun.strip(BLANKS).partition("="))
        begun = ""
        if key.startswith("["):
            section = key.strip("[]")
        owner = "Timer" if key in _TIMES else "Service" if key.startswith("Exec") else section
        if not equals or section != owner or section not in {"Unit", "Timer", "Service"}:
            continue
        values = found.setdefault(key, [])
        if value:
            values.append(value)
        else:  # an empty time clears those of every kind
            for cleared in _TIMES if key in _TIMES else (key,):
                found.get(cleared, []).clear()
    return found


def seconds(text: str) -> float:
    """Return the seconds of a time span, e.g. ``1h 30min``, ``1.5h`` or ``500ms``.

    Raises:
        UnsaidError: it is none.
    """
    parts = _SPAN.findall(text)
    if not parts or _SPAN.sub("", text).strip() or any(unit not in _UNITS for _, unit in parts):
        raise UnsaidError(f"'{text}' is no time span such as 90, 1h 30min or 1.5h")
    total = round(sum(float(number) * _UNITS[unit] for number, unit in parts), 6)
    return int(total) if total.is_integer() else total


# Services -----------------------------------------------------------------------------------------------------------


def _service_of(path: Path, timer: Unit) -> Carried:
    """Return the task without its schedule."""
    if path.stem.endswith("@"):
        raise UnsaidError("it is a template: link an instance of it, as name@instance.timer")
    name = timer.get("Unit", [f"{path.stem}.service"])[-1]
    if not name.endswith(".service"):
        raise UnsaidError(f"it starts {name}, which is no service")
    stem, at, _ = name.removesuffix(".service").partition("@")
    files = [name, f"{stem}@.service"] if at else [name]
    folders = [*dict.fromkeys((path.parent, path.resolve().parent, path.parent.parent))]
    service = next((one for folder in folders for file in files if (one := folder / file).is_file()), None)
    if service is None:
        raise UnsaidError(f"its service {name} cannot be read: there is no such file next to it")
    unit = _with_drop_ins(path.with_name(name), text_of(service))
    notes: list[str] = []
    args = _command(unit, notes)
    settings = _limits(unit, notes) | _policies(timer, notes)
    if unit.get("Description"):
        settings["description"] = unit["Description"][-1]
    both = {**timer, **unit}
    lost = [*_LOST, *(key for key in both if key.startswith(("Condition", "Assert")))]
    notes += [f"{key}={both[key][-1]} is not carried." for key in lost if both.get(key)]
    return Carried(plain_name(path.stem), str(path), "", args=args, settings=settings, notes=notes)


def _command(service: Unit, notes: list[str]) -> dict[str, Any]:
    """Return the arguments of ``shell``."""
    commands = [one for line in service.get("ExecStart", ()) for one in _commands_of(line, notes)]
    if not commands:
        raise UnsaidError("its service has no ExecStart")
    args: dict[str, Any] = {"command": commands[0][1]}
    if len(commands) > 1:
        texts = [f"({shlex.join(words)} || true)" if ignored else shlex.join(words) for ignored, words in commands]
        args["command"] = " && ".join(texts)
    elif commands[0][0]:
        args["expected_status"] = list(range(256))
    if folder := service.get("WorkingDirectory"):
        args["directory"] = folder[-1].removeprefix("-")
        if args["directory"] == "~":
            notes.append("WorkingDirectory=~ is not carried.")
            del args["directory"]
    given = [word.partition("=") for value in service.get("Environment", ()) for word in _words("Environment", value)]
    if kept := variables({name: value for name, equals, value in given if equals}, notes):
        args["environment"] = kept
    if re.search("%[a-zA-Z]", " ".join([args.get("directory", ""), *kept.values()])):
        notes.append("WorkingDirectory or Environment has specifiers: systemd replaces them, `shell` does not.")
    return args


def _commands_of(line: str, notes: list[str]) -> Iterator[tuple[bool, list[str]]]:
    """Yield the commands of a line ``ExecStart``: whether its failure is ignored, and its words."""
    rest = line.lstrip("@-:+!|")
    prefixes = line[: len(line) - len(rest)]
    if set(prefixes) & set("+!"):
        notes.append(f"'{prefixes}' before ExecStart is not carried: it runs as the user of the server.")
    if re.search(r"(?<!\$)\$[{A-Za-z_]|%[a-zA-Z]", rest):
        notes.append("ExecStart has variables or specifiers: systemd replaces them, `shell` does not.")
    words = _words("ExecStart", rest)
    while words:
        end = words.index(";") if ";" in words else len(words)
        command, words = words[:end], words[end + 1 :]
        if "@" in prefixes:
            del command[1:2]  # the name that the program sees
        yield "-" in prefixes, [word.replace("$$", "$") for word in command]


def _words(key: str, text: str) -> list[str]:
    """Return the words of a value. Unlike a shell, systemd replaces escapes in quotes of both kinds, too."""
    words: list[str] = []
    word: str | None = None
    quote = ""
    for part in _PART.findall(text):
        if part == quote:
            quote = ""
        elif part in ("'", '"') and not quote:
            word, quote = word or "", part
        elif not part.strip(BLANKS) and not quote:
            words += [] if word is None else [word]
            word = None
        else:
            word = (word or "") + (_unescaped(key, part) if part[0] == "\\" else part)
    if quote:
        raise UnsaidError(f"{key}={text} has a quote that is not closed")
    return words if word is None else [*words, word]


def _unescaped(key: str, escape: str) -> str:
    """Return the text of an escape; one that systemd does not know stays as it is."""
    kind, digits = escape[1:2], escape[2:]
    if len(escape) < 3:
        return _ESCAPES.get(kind, escape)
    try:
        if kind == "x":
            found = bytes.fromhex(escape.replace("\\x", "")).decode()
        else:
            found = chr(int(digits, 16) if kind in "uU" else int(escape[1:], 8))
    except (ValueError, OverflowError):
        found = "\0"
    if "\0" in found or "\ud800" <= found <= "\udfff":
        raise UnsaidError(f"{key} has {escape}, which is no text in UTF-8")
    return found


def _limits(service: Unit, notes: list[str]) -> dict[str, Any]:
    kind = service.get("Type", ["simple"])[-1]
    for key in ("RuntimeMaxSec", "TimeoutStartSec", "TimeoutSec"):
        value = service.get(key, ["infinity"])[-1]
        if value in ("infinity", "0"):
            continue
        if key != "RuntimeMaxSec" and kind != "oneshot":
            notes.append(
                f"{key} limits only the start of a service of Type={kind}; here `timeout` limits the whole run."
            )
        try:
            return {"timeout": seconds(value)}
        except UnsaidError as error:
            notes.append(f"{key} is not carried: {error}.")
    return {}


def _policies(timer: Unit, notes: list[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {"misfire": "last" if _is_yes(timer.get("Persistent", ["no"])[-1]) else "none"}
    if delay := timer.get("RandomizedDelaySec"):
        try:
            settings["jitter"] = min(seconds(delay[-1]), MAX_SECONDS)
        except UnsaidError as error:
            notes.append(f"RandomizedDelaySec is not carried: {error}.")
        else:
            if not _is_yes(timer.get("FixedRandomDelay", [""])[-1]):
                notes.append(
                    "RandomizedDelaySec is another delay each time there; `jitter` is one that stays the task's."
                )
    return settings


def _is_yes(value: str) -> bool:
    return value.lower() in ("1", "yes", "true", "on", "y", "t")


# Schedules ----------------------------------------------------------------------------------------------------------


def _calendar(carried: Carried, value: str, zone: str, span: tuple[int, int]) -> Carried:
    last = value.rsplit(maxsplit=1)[-1]
    has_zone = (last[0].isalpha() and "/" in last) or _is_zone(last)
    spec = ScheduleSpec(Syntax.CALENDAR, value, "UTC" if has_zone else zone)
    if parse(spec.syntax, spec.value, spec.timezone).next_after(datetime.fromtimestamp(span[0], UTC)) is None:
        raise UnsaidError("it is over: it has no time any more")
    program = shutil.which("systemd-analyze")
    if program is None:
        why = "there is no systemd-analyze on this machine; CALENDAR is systemd's own syntax"
        return replace(carried, schedules=[spec], uncompared=why)
    if _FRACTION.search(value):
        return replace(carried, schedules=[spec], uncompared="systemd-analyze shows no fractions of seconds")
    times = [one for one in _times_of_systemd(program, value, zone, span[0]) if one <= span[1]]
    until = times[-1] if len(times) == _NEXT else span[1]
    return replace(carried, schedules=[spec], windows=[(span[0], until, times)])


def _is_zone(word: str) -> bool:
    try:
        find_zone(word)
    except ScheduleError:
        return False
    return True


def _times_of_systemd(program: str, value: str, zone: str, start: int) -> list[int]:
    """Return the next times of a calendar event by systemd itself."""
    base = datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    answer = subprocess.run(  # noqa: S603 - a program of the system, by its whole path
        [program, "calendar", f"--iterations={_NEXT}", f"--base-time={base}", value],
        env={**os.environ, "TZ": zone, "SYSTEMD_COLORS": "0", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = [f"{at}+0000" for at, name in _ELAPSE.findall(answer.stdout) if name == "UTC"]
    return sorted({int(datetime.strptime(one, "%Y-%m-%d %H:%M:%S%z").timestamp()) for one in found})
