"""``cronograph import``: schedules of other programs as tasks or jobs, without a server."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from tzlocal import get_localzone_name

from ...jobs.core.base.errors import ConfigurationError
from ...jobs.core.schedule import ScheduleError
from ...jobs.core.schedule.zones import find_zone
from ..importing.asking import OF_FILES, PROGRAMS, ask, read_files
from ..importing.model import Import
from ..importing.report import SPAN, jobs_module, report, start_module, summary, tasks_file
from .base.output import Output, answering


@answering
def import_(
    output: Output,
    program: Annotated[str, typer.Argument(help=f"Whose schedules: {', '.join(PROGRAMS)}.")],
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files and folders: of crontab, systemd and kubernetes.")
    ] = None,
    app: Annotated[
        str | None,
        typer.Option(
            "--app",
            "-A",
            metavar="MODULE",
            help="The module that has the schedules, e.g. shop.celery or shop.celery:app: of the other programs.",
        ),
    ] = None,
    python: Annotated[
        str | None,
        typer.Option("--python", metavar="PATH", help="The Python of the project. (default: the one that runs this)"),
    ] = None,
    module: Annotated[
        bool,
        typer.Option("--module", help="Write a module of jobs that call the functions, instead of a file of tasks."),
    ] = False,
    timezone: Annotated[
        str | None,
        typer.Option(
            "--timezone", help="The time zone of its machine. (default: that of this machine; kubernetes: UTC)"
        ),
    ] = None,
    system: Annotated[
        bool, typer.Option("--system", help="Crontabs have a column for the user, as /etc/crontab.")
    ] = False,
    set_name: Annotated[str, typer.Option("--set", metavar="NAME", help="The set of the tasks.")] = "imported",
    out: Annotated[Path | None, typer.Option("--out", help="Write to this file instead of standard output.")] = None,
    start: Annotated[
        Path | None,
        typer.Option("--start", help="Write commands for the start (@reboot, OnBootSec) to this module of jobs."),
    ] = None,
    report_to: Annotated[
        Path | None, typer.Option("--report", help="Write the report to this file instead of standard error.")
    ] = None,
) -> None:
    """Make tasks, or jobs, of the schedules of cron, systemd, Kubernetes, Celery, APScheduler, RQ or Huey.

    Crontabs, timers and CronJobs are read as files. Of the other programs the project is imported in its own Python,
    and its live schedules are read; no scheduler is started, and no broker is asked. The report compares the next times
    there and here, and lists the schedules that could not be carried.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    zone = timezone or ("UTC" if program == "kubernetes" else get_localzone_name())
    found = _found(program, paths or [], app, python, zone, now, module=module, system=system)
    count = len(found.carried) + len(found.left_out) + len(found.at_start)
    if not count:
        places = app or ", ".join(map(str, paths or []))
        raise ConfigurationError(
            ". ".join([f"no schedule of {program} in {places}; nothing was written", *found.notes])
        )
    text = jobs_module(found) if module else tasks_file(found, set_name)
    account, module_of_start = report(found, now), start_module(found)
    if report_to is not None:
        _write(report_to, account, "--report")
    if start is not None and module_of_start:
        _write(start, module_of_start, "--start")
    if out is not None:
        _write(out, text, "--out")
    output.note(f"{account if report_to is None else f'the report is in {report_to}'}")
    written = f"{len(found.carried)} of {count} schedules written to {out}"
    output.result({"ok": True, "text": text, **summary(found, now)}, text.rstrip("\n") if out is None else written)


def _found(
    program: str,
    paths: list[Path],
    app: str | None,
    python: str | None,
    zone: str,
    now: datetime,
    *,
    module: bool,
    system: bool,
) -> Import:
    if program not in PROGRAMS:
        raise ConfigurationError(f"program: must be one of {', '.join(PROGRAMS)}, got {program[:80]!r}")
    try:
        find_zone(zone)
    except ScheduleError as error:
        raise ConfigurationError(f"--timezone: {error}") from None
    span = int(now.timestamp()), int((now + SPAN).timestamp())
    if program in OF_FILES:
        if module:
            others = ", ".join(one for one in PROGRAMS if one not in OF_FILES)
            raise ConfigurationError(f"--module: is for {others}; those of {program} become tasks of the job shell")
        if app is not None or not paths:
            raise ConfigurationError(f"paths: must be the files of {program}{'; --app is for others' if app else ''}")
        return read_files(program, paths, zone, span, is_system=system)
    if app is None or paths:
        hint = f", e.g. -A {paths[0]}" if paths and paths[0].suffix == ".py" else ", e.g. -A shop.schedules"
        raise ConfigurationError(f"--app: name the module that has the schedules of {program}{hint}")
    return ask(program, app, python or sys.executable, zone, span)


def _write(path: Path, text: str, option: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{option}: cannot write {path}: {error.strerror}") from None
