"""Crontabs as Vixie's cron and its heirs read them (Debian's cron, cronie): of a user, or of the system."""

import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from ...jobs.core.schedule import ScheduleError
from ...jobs.core.schedule.zones import find_zone
from .fields import NICKNAMES, Fields, parse_crontab, schedules_of, times_of
from .model import BLANKS, AtStart, Carried, LeftOut, UnsaidError, plain_name, variables
from .probe import windows

NOTES: Final = (
    (
        "cron starts a command also while the last one still runs; here the task skips that occurrence. Write "
        "`overlap: allow` to have it as it was."
    ),
    (
        "cron makes up for nothing it missed while the machine was off; here the newest missed occurrence runs. Write "
        "`misfire: none` to have it as it was."
    ),
    (
        "cron starts a command in the user's home and mails what it writes; here it starts in the server's "
        "working directory unless the task says `directory`, and what it writes is in its log. MAILTO is not carried."
    ),
    "The job `shell` is there only on nodes with the setting `shell = true`, and runs as the user of the server.",
)
CRON_TZ_NOTE: Final = "cronie knows CRON_TZ; the cron of Debian and Ubuntu ignores it, and uses the machine's zone."
SYSTEM_NOTE: Final = "{path} has a column for the user, as /etc/crontab; it was read as with `--system`."
_BLANK: Final = re.compile(f"[{BLANKS}]+")
_REBOOT: Final = "@reboot"
_ASSIGNMENT: Final = re.compile(
    r"""B*(?:"([^"]*)"|'([^']*)'|([^ \t\r\n=]+))B*=B*(.*?)B*""".replace("B", f"[{BLANKS}]"), re.DOTALL
)
_USER_IN_HEADER: Final = re.compile(r"#.*\bdow\s+user(?:-?name)?\s+command", re.IGNORECASE)
_ENTRY: Final = re.compile(
    r"-?(?:@\w+|(?:[\d*][^\s=]*\s+){2}\S+\s+\S+\s+\S+)\s+(?:(?P<user>[a-z_][a-z0-9_-]*)(?!\S)|\S+)(?P<command>\s+\S)?"
)
_ANACRON: Final = re.compile(r"(\d+|@\w+)[ \t]+\d+[ \t]+[A-Za-z_]{3}[\w.-]*[ \t]+\S.*")
"""A line of anacron: period in days, delay in minutes, name, command."""
_COMMAND: Final = re.compile(r"((?:[^\\%]|\\.)*\\?)(?:%(.*))?", re.DOTALL)
"""A command and its input: before the first bare % a backslash escapes a backslash, too; after it, it does not."""
_INTERPRETERS: Final = frozenset(
    {"sh", "bash", "dash", "env", "nice", "ionice", "flock", "timeout", "sudo", "exec", "cd"}
)


def has_users(path: Path, text: str) -> bool:
    """Return whether a crontab is one of the system: by its place, its heading, or the user root.

    One line may begin its command with `root`, which is a program as well: most lines must have a user and a command.
    """
    lines = [line.strip() for line in text.split("\n")]
    if path.parent.name == "cron.d" or any(map(_USER_IN_HEADER.match, lines)):
        return True
    entries = [found for found in map(_ENTRY.match, lines) if found]
    with_users = [found for found in entries if found["user"] and found["command"]]
    return any(found["user"] == "root" for found in with_users) and len(with_users) * 2 > len(entries)


def read(
    path: Path, text: str, zone: str, span: tuple[int, int], *, is_system: bool
) -> Iterator[Carried | AtStart | LeftOut]:
    """Yield each line of a crontab that is one.

    Args:
        path: The file, for the places.
        zone: The zone in which cron reads it, unless ``CRON_TZ`` says another one.
        span: The first and the last second of the epoch for the times.
        is_system: Whether the sixth column is a user.
    """
    environment: dict[str, str] = {}
    remark = ""
    entries = _entries(text)
    is_anacron = bool(entries) and all(map(_ANACRON.fullmatch, entries))
    if text.startswith("#!") and not any(map(_ENTRY.match, entries)):
        yield LeftOut(str(path), text.partition("\n")[0], "it is a script: write a line of a crontab that starts it")
        return
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip(BLANKS)
        if stripped.startswith("#") or not stripped:
            remark = stripped.lstrip("# ")
            continue
        assignment = _assigned(line)
        if assignment is not None:
            environment[assignment[1] or assignment[2] or assignment[3]] = _unquoted(assignment[4])
            continue
        place = f"{path}:{number}"
        if is_anacron:
            yield LeftOut(place, stripped, "it is a line of anacron, whose first number are days: write an interval")
            continue
        try:
            yield _line(place, stripped, environment, zone, remark, span, is_system=is_system)
        except UnsaidError as error:
            yield LeftOut(place, stripped, str(error))
        remark = ""


def _assigned(line: str) -> re.Match[str] | None:
    return None if line.strip(BLANKS)[:1] in {*"*@-0123456789"} else _ASSIGNMENT.fullmatch(line)


def _entries(text: str) -> list[str]:
    """Return the lines that are neither empty, nor remarks, nor variables."""
    lines = [line.strip(BLANKS) for line in text.split("\n")]
    return [line for line in lines if line and not line.startswith("#") and _assigned(line) is None]


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _line(
    place: str,
    line: str,
    environment: dict[str, str],
    zone: str,
    remark: str,
    span: tuple[int, int],
    *,
    is_system: bool,
) -> Carried | AtStart:
    bare = line.removeprefix("-")
    count = (1 if bare.startswith("@") else 5) + is_system
    parts = _BLANK.split(bare, count)
    if len(parts) <= count:
        raise UnsaidError(f"has too few fields; a line has {count} and a command")
    expression, command = " ".join(parts[: count - is_system]), parts[count]
    notes = [f"It runs as user '{parts[count - 1]}' there, and as the user of the server here."] if is_system else []
    args = _command(command, environment, notes)
    if expression == _REBOOT:
        return AtStart(place, line, args)
    chosen = environment.get("CRON_TZ", "").lstrip(":") or zone
    try:
        find_zone(chosen)
    except ScheduleError:
        raise UnsaidError(f"'{chosen}' is no time zone that is known here") from None
    if environment.get("CRON_TZ"):
        notes.append(CRON_TZ_NOTE)
    fields, follows_the_clock = read_crontab(expression)
    settings: dict[str, Any] = {"description": remark} if remark else {}
    if (minutes := environment.get("RANDOM_DELAY", "")).isdecimal() and int(minutes[:9]):
        settings["jitter"] = int(minutes[:9]) * 60
        notes.append(
            "RANDOM_DELAY is chosen by cronie when it starts, for all lines; `jitter` is the task's own delay."
        )
    schedules = schedules_of(fields, chosen)
    if len(schedules) > 1:
        notes.append("Both day fields are restricted: for cron one of them is enough, so these are two tasks.")
    used = ZoneInfo(chosen)
    return Carried(
        name=_name(command.partition("%")[0]),
        place=place,
        text=line,
        schedules=schedules,
        windows=windows(partial(times_of, fields, used, polled=follows_the_clock), used, *span),
        args=args,
        settings=settings,
        notes=notes,
    )


def read_crontab(text: str) -> tuple[Fields, bool]:
    """Return the five fields of a line or of its nickname, and whether it follows the clock.

    A day field that *begins* with ``*`` is no restriction to cron: with one of them both fields have to match, else
    one is enough. Jobs whose minute or hour begins with ``*`` follow the clock; others run once, also where it changes.

    Raises:
        UnsaidError: cron refuses it, or the crons disagree about it.
    """
    fields = NICKNAMES.get(text, text).split(" ")
    if len(fields) != 5:
        known = text.lower() if text.lower() in {*NICKNAMES, _REBOOT} else ""
        hint = f", which wants small letters: '{known}'" if known else ""
        raise UnsaidError(f"'{text}' is neither five fields nor a nickname that cron knows{hint}")
    if "~" in text:
        raise UnsaidError("'~' is a number that cron chooses at random each time it reads the file")
    minute, hour, day, _, weekday = fields
    either = not day.startswith("*") and not weekday.startswith("*")
    return Fields(*parse_crontab(fields), either=either), minute.startswith("*") or hour.startswith("*")


def _command(command: str, environment: dict[str, str], notes: list[str]) -> dict[str, Any]:
    """Return the arguments of ``shell``."""
    found = _COMMAND.fullmatch(command)
    assert found is not None
    line = re.sub(r"\\(.)", lambda pair: "%" if pair[1] == "%" else pair[0], found[1])
    arguments: dict[str, Any] = {"command": line.strip(BLANKS)}
    if found[2]:
        text = re.sub(r"(?<!\\)%", "\n", found[2]).replace("\\%", "%")
        arguments["input"] = text.removesuffix("\n") + "\n"
    shell = environment.get("SHELL", "/bin/sh")
    if shell not in ("/bin/sh", "sh"):
        arguments["command"] = [shell, "-c", arguments["command"]]
    own = ("SHELL", "MAILTO", "CRON_TZ", "MAILFROM")
    kept = variables({name: value for name, value in environment.items() if name not in own}, notes)
    if kept.get("HOME"):
        arguments["directory"] = kept["HOME"]
    if kept:
        arguments["environment"] = kept
    return arguments


def _name(command: str) -> str:
    """Return the program that a command runs, without its folder and ending."""
    try:
        words = shlex.split(command.replace("\\%", "%"))
    except ValueError:
        words = command.split()
    for word in words:
        name = word.rpartition("/")[2]
        is_other = "=" in word or word.startswith(("-", "(", "[", "&", "|", ">"))
        if name and not is_other and name not in _INTERPRETERS:
            return plain_name(name.removesuffix(".sh").removesuffix(".py"))
    return "command"
