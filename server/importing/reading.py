"""Finds the files of a program and has them read."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ...jobs.core.base.errors import ConfigurationError
from . import crontab, kubernetes, systemd
from .model import AtStart, Carried, Import, LeftOut, UnsaidError, text_of

PROGRAMS: Final = ("crontab", "systemd", "kubernetes", "celery", "apscheduler", "rq", "huey")
OF_FILES: Final[Mapping[str, re.Pattern[str]]] = {
    "crontab": re.compile(r"[\w-]+", re.ASCII),
    "systemd": re.compile(r".+\.timer"),
    "kubernetes": re.compile(r".+\.(?:ya?ml|json)"),
}
"""The programs that have files, and the names of these in a folder."""


def read_files(program: str, paths: Sequence[Path], zone: str, span: tuple[int, int], *, is_system: bool) -> Import:
    """Read all schedules in files and folders.

    Args:
        program: One of ``OF_FILES``.
        paths: Files, and folders of files.
        zone: The zone in which they are read, unless they say another one.
        span: The first and the last second of the epoch for the times.
        is_system: Whether crontabs have a column for the user.

    Raises:
        ConfigurationError: a file cannot be read.
    """
    reader = {"crontab": crontab, "systemd": systemd, "kubernetes": kubernetes}[program]
    notes: list[str] = []
    found: list[Carried | AtStart | LeftOut] = []
    for path in _files(program, paths):
        try:
            text = text_of(path, notes)
        except (OSError, UnsaidError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            if path in paths:
                raise ConfigurationError(f"{path}: cannot be read: {reason}") from None
            found.append(LeftOut(str(path), path.name, f"cannot be read: {reason}"))
            continue
        if program == "crontab":
            has_users = is_system or crontab.has_users(path, text)
            if has_users and not is_system:
                notes.append(crontab.SYSTEM_NOTE.format(path=path))
            found += crontab.read(path, text, zone, span, is_system=has_users)
        else:
            found += (systemd if program == "systemd" else kubernetes).read(path, text, zone, span)
    return Import.of(program, found, reader.NOTES, notes)


def _files(program: str, paths: Sequence[Path]) -> list[Path]:
    """Return the files; links to the same unit of systemd count once, unless they are instances of a template."""
    found: dict[object, Path] = {}
    for path in paths:
        several = sorted(path.iterdir() if program == "crontab" else path.rglob("*")) if path.is_dir() else [path]
        for one in several:
            if one != path and (one.is_dir() or not OF_FILES[program].fullmatch(one.name)):
                continue
            if one.parent.suffix in (".wants", ".requires") and (one.parent.parent / one.name).exists():
                continue
            file = one.resolve()
            found.setdefault((file, one.name) if "@" in one.name else file, one)
    instances = {one.resolve() for one in found.values() if not one.stem.endswith("@")}
    return [one for one in found.values() if not one.stem.endswith("@") or one.resolve() not in instances]
