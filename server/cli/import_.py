"""``cronograph import``: schedules of other programs as tasks or jobs, without a server."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from tzlocal import get_localzone_name

from ...jobs.core.base.errors import ConfigurationError
from ...jobs.core.schedule import ScheduleError
from ...jobs.core.schedule.zones import find_zone
from ..importing.reading import OF_PYTHON, PROGRAMS, read_program
from ..importing.report import report, summary
from ..importing.starting import start_module
from ..importing.writing import jobs_module, tasks_file
from .base.output import Output, answering


@answering
def import_(
    output: Output,
    program: Annotated[str, typer.Argument(help=f"Whose schedules: {', '.join(PROGRAMS)}.")],
    paths: Annotated[list[Path], typer.Argument(help="Its files; of Python programs and of systemd also folders.")],
    module: Annotated[
        bool,
        typer.Option("--module", help="Write a module of jobs that call the functions, instead of a file of tasks."),
    ] = False,
    timezone: Annotated[
        str | None,
        typer.Option("--timezone", help="In which its schedules are read. (default: this machine's; Huey: UTC)"),
    ] = None,
    system: Annotated[
        bool, typer.Option("--system", help="Crontabs have a column for the user, as /etc/crontab.")
    ] = False,
    set_name: Annotated[str, typer.Option("--set", metavar="NAME", help="The set of the tasks.")] = "imported",
    out: Annotated[Path | None, typer.Option("--out", help="Write to this file instead of standard output.")] = None,
    start: Annotated[
        Path | None,
        typer.Option("--start", help="Write what began with the machine (@reboot, OnBootSec) to this module of jobs."),
    ] = None,
    report_to: Annotated[
        Path | None, typer.Option("--report", help="Write the report to this file instead of standard error.")
    ] = None,
) -> None:
    """Make tasks, or jobs, of the schedules of cron, Celery, APScheduler, RQ, Huey or systemd.

    Python sources are read, not run. The report says what each line meant there and means here, with the next times of
    both side by side, and what could not be carried.
    """
    if program not in PROGRAMS:
        raise ConfigurationError(f"program: must be one of {', '.join(PROGRAMS)}, got {program[:80]!r}")
    if module and program not in OF_PYTHON:
        raise ConfigurationError(
            f"--module: is for {', '.join(sorted(OF_PYTHON))}; lines of a {program} become tasks of the job shell"
        )
    zone = timezone or ("UTC" if program == "huey" else get_localzone_name())
    try:
        find_zone(zone)
    except ScheduleError as error:
        raise ConfigurationError(f"--timezone: {error}") from None
    found = read_program(program, paths, zone, is_system=system)
    count = len(found.carried) + len(found.left_out) + len(found.at_start)
    if not count:
        raise ConfigurationError(
            f"paths: no schedule of {program} in {', '.join(map(str, paths))}; nothing was written"
        )
    text = jobs_module(found) if module else tasks_file(found, set_name)
    now = datetime.now(UTC).replace(microsecond=0)
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


def _write(path: Path, text: str, option: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{option}: cannot write {path}: {error.strerror}") from None
