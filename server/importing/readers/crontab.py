"""Crontabs: of a user, or of the system with a column for the user."""

import re
import shlex
from collections.abc import Iterator
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..base.model import AtStart, Carried, LeftOut, plain_name
from ..dialects.crontab import REBOOT, read_crontab
from ..dialects.expressions import schedules_of
from ..dialects.fields import DialectError

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
_ASSIGNMENT: Final = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s=]+))\s*=\s*(.*?)\s*""", re.DOTALL)
_INTERPRETERS: Final = frozenset(
    {"sh", "bash", "dash", "env", "nice", "ionice", "flock", "timeout", "sudo", "exec", "cd"}
)


def read(path: Path, text: str, zone: str, *, is_system: bool) -> Iterator[Carried | AtStart | LeftOut]:
    """Each line of a crontab that is one.

    Args:
        path: For the places.
        text: The file.
        zone: In which cron reads it, unless ``CRON_TZ`` says another one.
        is_system: Whether the sixth column is a user.
    """
    environment: dict[str, str] = {}
    remark = ""
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("#") or not stripped:
            remark = stripped.lstrip("# ")
            continue
        assignment = None if stripped[0] in "*@-0123456789" else _ASSIGNMENT.fullmatch(line)
        if assignment is not None:
            name = assignment[1] or assignment[2] or assignment[3]
            environment[name] = _unquoted(assignment[4])
            continue
        place = f"{path}:{number}"
        try:
            yield _line(place, stripped, environment, zone, remark, is_system=is_system)
        except DialectError as error:
            yield LeftOut(place, stripped, str(error))
        remark = ""


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _line(
    place: str, line: str, environment: dict[str, str], zone: str, remark: str, *, is_system: bool
) -> Carried | AtStart:
    bare = line.removeprefix("-")
    count = (1 if bare.startswith("@") else 5) + is_system
    parts = bare.split(None, count)
    if len(parts) <= count:
        raise DialectError(f"has too few fields; a line has {count} and a command")
    user = parts[count - 1] if is_system else ""
    expression, command = " ".join(parts[: count - is_system]), parts[count]
    if expression == REBOOT:
        return AtStart(place, line, _command(command, environment))
    chosen, used = environment.get("CRON_TZ", zone), zone_of(environment.get("CRON_TZ", zone))
    fields = read_crontab(expression, used)
    schedules = schedules_of(fields, chosen)
    notes: list[str] = []
    if user:
        notes.append(f"It runs as user '{user}' there, and as the user of the server here.")
    if len(schedules) > 1:
        notes.append("Both day fields are restricted: for cron one of them is enough, so these are two tasks.")
    return Carried(
        name=_name(command.partition("%")[0]),
        place=place,
        text=line,
        schedules=schedules,
        times=fields.after,
        job="shell",
        args=_command(command, environment),
        settings={"description": remark} if remark else {},
        notes=notes,
    )


def zone_of(name: str) -> tzinfo:
    """The zone of a name.

    Raises:
        DialectError: there is none.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise DialectError(f"'{name}' is no time zone that is known here") from None


def _command(command: str, environment: dict[str, str]) -> dict[str, Any]:
    """The arguments of ``shell``."""
    line, *given = re.split(r"(?<!\\)%", command)
    arguments: dict[str, Any] = {"command": line.replace("\\%", "%").strip()}
    if given:
        arguments["input"] = "\n".join(given).replace("\\%", "%").removesuffix("\n") + "\n"
    shell = environment.get("SHELL", "/bin/sh")
    if shell not in ("/bin/sh", "sh"):
        arguments["command"] = [shell, "-c", arguments["command"]]
    kept = {
        name: value for name, value in environment.items() if name not in ("SHELL", "MAILTO", "CRON_TZ", "MAILFROM")
    }
    if "HOME" in kept:
        arguments["directory"] = kept["HOME"]
    if kept:
        arguments["environment"] = kept
    return arguments


def _name(command: str) -> str:
    """The program that a command runs, without its folder and ending."""
    try:
        words = shlex.split(command.replace("\\%", "%"))
    except ValueError:
        words = command.split()
    for word in words:
        name = word.rpartition("/")[2]
        if (
            "=" not in word
            and not word.startswith(("-", "(", "[", "&", "|", ">"))
            and name not in _INTERPRETERS
            and name
        ):
            return plain_name(name.removesuffix(".sh").removesuffix(".py"))
    return "command"
