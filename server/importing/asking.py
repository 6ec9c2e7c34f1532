"""Celery, APScheduler, RQ and Huey: the project is imported by its own Python, and its live schedules are read."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

from ...jobs.core.arguments.secrets import without_credentials
from ...jobs.core.base.errors import ConfigurationError
from ...jobs.core.model import ScheduleSpec
from ...jobs.core.schedule import Syntax
from . import crontab, kubernetes, systemd
from .fields import Fields, interval_of, judged, schedules_of
from .model import AtStart, Call, Carried, Import, LeftOut, UnsaidError, plain_name, text_of

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


NOTES: Final[Mapping[str, tuple[str, ...]]] = {
    "celery": (
        (
            "beat sends a task also while the last one still runs; here the task skips that occurrence. Write "
            "`overlap: allow` to have it as it was."
        ),
        "Two beats send each task twice; any number of nodes here makes one run of each occurrence.",
    ),
    "apscheduler": (
        (
            "A job that is late by more than `misfire_grace_time` (1 s unless set) is dropped there; here "
            "`misfire: last` runs the newest occurrence."
        ),
    ),
    "rq": (
        "RQ and rq-scheduler read schedules in the time zone of their machine: say `--timezone` if it is another one.",
        (
            "Both enqueue also while the last run still works; here the task skips that occurrence. Write "
            "`overlap: allow` to have it as it was."
        ),
        "Schedules that are only in Redis are not read.",
    ),
    "huey": (
        (
            "Huey looks at the clock each minute and makes up for nothing; here the newest missed occurrence runs. "
            "Write `misfire: none` to have it as it was."
        ),
    ),
}
_START: Final = "import sys; sys.path.append(sys.argv.pop(1)); from cronograph_probe.libraries import main; main()"
_PATIENCE: Final = 300
"""Seconds for the import and the times of all schedules."""
_FROM_THE_START: Final = "it counts from the start of its process there, and from the making of the task here"


def ask(program: str, app: str, python: str, zone: str, span: tuple[int, int]) -> Import:
    """Read the live schedules of a project.

    Args:
        program: One of ``NOTES``.
        app: The module that has them, as ``module`` or ``module:name``, or its file.
        python: The Python of the project.
        zone: The time zone of the machine on which the project runs.
        span: The first and the last second of the epoch for the times.

    Raises:
        ConfigurationError: the project cannot be read; the message says why in one line.
    """
    folder, spec = _module_of(app)
    with TemporaryDirectory() as scratch:
        answer = Path(scratch, "answer.json")
        request = {"program": program, "app": spec, "folder": folder, "start": span[0], "end": span[1]}
        package = Path(scratch, "cronograph_probe")
        package.mkdir()
        for name in ("probe.py", "libraries.py"):
            shutil.copyfile(Path(__file__).with_name(name), package / name)
        try:
            done = subprocess.run(  # noqa: S603 - the Python that the user names
                [python, "-c", _START, scratch, json.dumps({**request, "answer": str(answer)})],
                env={**os.environ, "TZ": zone},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_PATIENCE,
            )
        except OSError as error:
            raise ConfigurationError(f"--python: cannot run {python}: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise ConfigurationError(f"--app: {app} gave no answer within {_PATIENCE} s") from None
        if not answer.exists():
            said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            said = without_credentials(said)[:300]
            raise ConfigurationError(f"--app: the import of {app} ended its Python ({done.returncode}): {said}")
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if "error" in found:
        raise ConfigurationError(f"--app: {without_credentials(found['error'])}")
    return Import.of(program, map(_carried, found["entries"]), NOTES[program], found["notes"])


def _module_of(app: str) -> tuple[str, str]:
    """Return the folder to import from and the module: ``shop/celery.py:app`` is ``shop.celery:app``."""
    name, colon, attribute = app.partition(":")
    path = Path(name)
    if path.suffix != ".py" and not path.is_dir():
        return str(Path.cwd()), app
    if path.is_dir() and not (path / "__init__.py").exists():
        raise ConfigurationError(f"--app: must be a module such as shop.celery or its file, got the folder {name}")
    if not path.exists():
        raise ConfigurationError(f"--app: there is no file {name}")
    folder, parts = path.resolve().parent, [path.resolve().stem]
    while (folder / "__init__.py").exists():
        folder, parts = folder.parent, [folder.name, *parts]
    return str(folder), ".".join(parts) + colon + attribute


def _carried(entry: Mapping[str, Any]) -> Carried | LeftOut:
    # Some libraries show a schedule in several lines.
    text = " ".join(str(entry.get("text") or entry["name"]).split())
    if "why" in entry:
        return LeftOut(entry["place"], text, without_credentials(str(entry["why"])))
    try:
        return _task(entry, text)
    except UnsaidError as error:
        return LeftOut(entry["place"], text, str(error))


def _task(entry: Mapping[str, Any], text: str) -> Carried:
    function, args, parameters = str(entry["function"]), cast("list[Any]", entry["args"]), entry["parameters"]
    notes = [without_credentials(str(note)) for note in entry["notes"]]
    if len(parameters) < len(args):
        notes.append("Its arguments are given by place: write their names into the task, or write a jobs module.")
    settings: dict[str, Any] = dict(entry["settings"])
    for name in ("start_at", "end_at"):
        if name in settings:
            settings[name] = datetime.fromisoformat(settings[name])
    schedules, uncompared = _schedules(entry)
    return Carried(
        name=plain_name(str(entry["name"])),
        place=entry["place"],
        text=text,
        schedules=schedules,
        windows=entry.get("windows"),
        job=function.rpartition(".")[2],
        args={**dict(zip(parameters, args, strict=False)), **entry["kwargs"]},
        call=Call(function, entry["module"], args, entry["kwargs"], entry.get("method", ""), entry["is_coroutine"]),
        settings=settings,
        notes=notes,
        uncompared=uncompared,
    )


def _schedules(entry: Mapping[str, Any]) -> tuple[list[ScheduleSpec], str]:
    if "at" in entry:
        return [judged(ScheduleSpec(Syntax.TIMESTAMP, entry["at"]))], "it is due once"
    if "interval" in entry:
        return [interval_of(float(entry["interval"]))], _FROM_THE_START
    cron: dict[str, Any] = dict(entry["cron"])
    fields = Fields(
        *(frozenset(cron[name]) for name in ("minutes", "hours", "days", "months", "weekdays")),
        seconds=frozenset(cron.get("seconds", [0])),
        last_day=cron.get("last_day", False),
        nth=frozenset((number, day) for number, day in cron.get("nth", ())),
        either=cron.get("either", False),
    )
    return schedules_of(fields, entry["zone"]), ""
