"""Finds the files of a program and has them read by the reader of its kind."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ...jobs.core.base.errors import ConfigurationError
from .base.model import AtStart, Carried, Import, LeftOut
from .dialects.fields import DialectError
from .naming import with_own_names
from .readers import apscheduler, celery, crontab, queues, systemd
from .readers.source import Source

PROGRAMS: Final = ("crontab", "celery", "apscheduler", "rq", "huey", "systemd")
OF_PYTHON: Final = frozenset({"celery", "apscheduler", "rq", "huey"})
"""Those whose schedules stand in Python sources."""
_READERS: Final = {
    "celery": (celery.read, celery.NOTES),
    "apscheduler": (apscheduler.read, apscheduler.NOTES),
    "rq": (queues.read_rq_schedules, queues.RQ_NOTES),
    "huey": (queues.read_huey_tasks, queues.HUEY_NOTES),
}


def read_program(program: str, paths: Sequence[Path], zone: str, *, is_system: bool = False) -> Import:
    """All schedules in these files.

    Args:
        program: One of ``PROGRAMS``.
        paths: Files; of Python programs and of systemd folders too.
        zone: In which they are read, unless they say another one.
        is_system: Whether crontabs have a column for the user.

    Raises:
        ConfigurationError: a file cannot be read.
    """
    left_out: list[LeftOut] = []
    found: Iterator[Carried | AtStart | LeftOut]
    notes: Sequence[str]
    if program in OF_PYTHON:
        sources: list[Source] = []
        for path in _files(paths, "*.py"):
            try:
                sources.append(Source.of(path, _text(path)))
            except DialectError as error:
                left_out.append(LeftOut(str(path), path.name, str(error)))
        read, notes = _READERS[program]
        found = read(sources, zone)
    elif program == "systemd":
        notes = systemd.NOTES
        found = (one for path in _files(paths, "*.timer") for one in systemd.read(path, _text(path), zone))
    else:
        notes = crontab.NOTES
        found = (one for path in paths for one in crontab.read(path, _text(path), zone, is_system=is_system))
    several = list(found)
    left_out += [one for one in several if isinstance(one, LeftOut)]
    carried = with_own_names(one for one in several if isinstance(one, Carried))
    at_start = [one for one in several if isinstance(one, AtStart)]
    return Import(program, carried, left_out, notes, at_start)


def _files(paths: Sequence[Path], pattern: str) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.rglob(pattern)) if path.is_dir() else [path]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(f"{path}: cannot be read: {reason}") from None
