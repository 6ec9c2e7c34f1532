"""``cronograph serve``, ``worker`` and ``check``: the server, a node without an API, and a check before the start."""

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ...jobs.builtin import builtin_jobs
from ...jobs.connection import connect
from ...jobs.core.base.errors import ConfigurationError
from ...jobs.core.base.times import counted
from ...jobs.registry import default_registry
from ...jobs.runtime.job.lines import keep_lines_of_jobs
from ...jobs.runtime.job.printing import guard_output
from ...jobs.store.db.address import without_password
from ...jobs.store.db.database import Database
from ..configuration.reading import InvalidSettingsError, load
from ..configuration.settings import DEFAULT_FILE, Settings
from ..database.schema import DatabaseReport, check_database
from ..http.bind import AddressInUseError, CannotListenError, listen
from ..http.pages import Site
from ..preparation import administrator_faults, prepare
from ..process.ending import ExitCode, end_broken, end_without
from ..process.lifecycle import survive_signals
from ..process.logs import configure_logging
from ..service import Service
from .base.options import OF_THE_API, AsJson, ConfigFile, Flags, Reload, takes_settings
from .base.output import Output

SIGN_IN = "by name and password at {url}/login; programs by API tokens (`cronograph token create`)"
NO_AUTH = "--no-auth: everybody on this machine is the administrator, nobody else can reach the server"
NO_JOBS = "the built-in ones only; name your own modules with --jobs, or see `cronograph demo`"


@takes_settings
def serve(flags: Flags, *, reload: Reload = False, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Serve the API and the dashboard, dispatch due tasks, and run jobs.

    The first SIGINT or SIGTERM begins an orderly stop: nothing new is taken, running jobs may finish, then the process
    ends with status 0. A second one, more than a second later, ends it at once. SIGHUP reads the files of `--tasks`
    again.
    """
    if reload:
        _serve_reloading(flags, config, Output(as_json=as_json))
    run_server(flags, config, as_json=as_json)


def _serve_reloading(flags: Flags, config: Path | None, output: Output) -> NoReturn:
    """Serve in a child process, and in another one whenever the code has changed."""
    with output.errors():
        try:
            reloading = import_module("..process.reloading", __package__)
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                f"--reload: needs the package {error.name}, which is not there; pip install 'cronograph[reload]'"
            ) from error
        try:
            modules = load(flags, config).settings.jobs
        except InvalidSettingsError as error:
            # The server itself says what is wrong, and may be right after the next change.
            modules = error.partial.jobs
        command, folders = reloading.reloading_command(sys.argv[1:]), reloading.folders_of(modules)
        sys.exit(reloading.Reloader(command, folders, [config or DEFAULT_FILE]).run())


def run_server(
    flags: Flags,
    config: Path | None,
    *,
    as_json: bool,
    before_ready: Callable[[Database], Awaitable[None]] | None = None,
    greeting: str = "Cronograph",
    serves_api: bool = True,
) -> None:
    """Load the settings and the jobs, then serve until a signal ends it.

    Args:
        flags: Setting name to value as given on the command line; None = not given.
        config: The configuration file that was named.
        as_json: Write JSON lines only.
        before_ready: See ``Service.prepare``.
        greeting: The beginning of the line with the address.
        serves_api: See ``Service``.
    """
    survive_signals()
    # Before the modules of jobs are imported: their own handlers of logging write to what is there by then.
    guard_output()
    # These modules may configure logging: that mutes none of our loggers, and loses no line of a job.
    keep_lines_of_jobs()
    output = Output(as_json=as_json)
    with output.errors():
        prepared = prepare(flags, config, serves_api=serves_api)
        settings = prepared.checked()
        for sentence in prepared.warnings:
            output.note(f"warning: {sentence}")
        configure_logging("json" if as_json else settings.log_format, settings.log_level)

        def ready(url: str, node: str) -> None:
            data = {"ok": True, "event": "ready", "url": url, "node": node}
            output.result(
                data,
                f"{greeting} is ready: {url}  (node {node}; Ctrl+C stops it)\n"
                f"{_details(url, settings, serves_api=serves_api)}",
            )

        service = Service(settings, default_registry(), ready, before_ready, serves_api=serves_api)
        # What a job enqueues without a session goes where its own run came from.
        with connect(settings.database_url):
            service.run()
        if service.fault is not None:
            end_broken(service.fault)
        end_without(service.left_behind)


def _details(url: str, settings: Settings, *, serves_api: bool) -> str:
    own = len(default_registry()) - len(builtin_jobs(with_shell=settings.shell))
    lines = [
        f"  jobs      {f'{own} of your own, and the built-in ones' if own else NO_JOBS}",
        f"  database  {without_password(settings.database_url)}",
    ]
    if settings.read_database_url is not None and serves_api:
        lines.append(f"  reads     {without_password(settings.read_database_url)}")
    if not serves_api:
        return "\n".join((f"  serves    {url}/health/ready, {url}/metrics", *lines))
    api = f"  API       {url}/graphql  (try it at {url}/graphiql)"
    return "\n".join((api, *lines, f"  sign-in   {NO_AUTH if settings.no_auth else SIGN_IN.format(url=url)}"))


MetricsHost = Annotated[
    str | None,
    typer.Option("--host", help="Where health and metrics are served. (default: metrics_host, or localhost)"),
]
MetricsPort = Annotated[
    str | None,
    typer.Option(
        "--port", metavar="INTEGER", help="The port for them; 0 = any free one. (default: metrics_port, or 8001)"
    ),
]


@partial(takes_settings, but=OF_THE_API)
def worker(
    flags: Flags,
    *,
    host: MetricsHost = None,
    port: MetricsPort = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Dispatch due tasks and run jobs, as a node of `serve` does, without the API and the dashboard.

    Its port has /health/live, /health/ready and /metrics, without sign-in. The dashboard and the API are served
    by other nodes on the same database; on SQLite there are none: one process has the file. It stops as `serve` does.
    """
    run_server(
        {**flags, "metrics_host": host, "metrics_port": port},
        config,
        as_json=as_json,
        greeting="The Cronograph worker",
        serves_api=False,
    )


NO_DASHBOARD = "dashboard: is not built, so the server answers 503 there and says how to build it"


@takes_settings
def check(flags: Flags, *, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Check the configuration, the address, the job modules, the database and the stored schedules; nothing is started.

    All errors and warnings are listed at once. The exit status is 0 when there is no error, else 2.
    """
    output = Output(as_json=as_json)
    with output.errors():
        prepared = prepare(flags, config)
        registry = default_registry()
        report = DatabaseReport()
        if "database_url" not in prepared.faulty:
            report = check_database(prepared.settings.database_url, registry)
        if not prepared.faults:
            _try_to_listen(prepared.settings, report)
        if not prepared.faults and not report.faults:
            report.faults.extend(administrator_faults(prepared.settings, empty=bool(report.pending)))
        faults = [*prepared.faults, *report.faults]
        warnings = [*prepared.warnings, *report.warnings, *([] if Site().built else [NO_DASHBOARD])]
        if faults:
            output.failed(faults, ExitCode.USAGE, warnings)
            raise typer.Exit(ExitCode.USAGE)
        data = {
            "ok": True,
            "errors": [],
            "warnings": warnings,
            "jobs": list(registry.names()),
            "database": report.as_json(),
        }
        output.result(data, "\n".join(_check_sentences(registry.names(), report, warnings)))


def _try_to_listen(settings: Settings, report: DatabaseReport) -> None:
    """Judge the address of the start: one that it may never use is a fault, one in use is a warning."""
    try:
        listen(settings.host, settings.port).close()
    except AddressInUseError as error:
        # It may well be the server that this is the configuration of.
        report.warnings.append(str(error))
    except CannotListenError as error:
        report.faults.append(str(error))


def _check_sentences(jobs: Sequence[str], report: DatabaseReport, warnings: Sequence[str]) -> list[str]:
    if not report.exists:
        database = "does not exist yet; the first start makes it"
    elif report.pending:
        database = f"needs the schema revisions {', '.join(report.pending)}; the next start applies them"
    else:
        database = f"is up to date and holds {counted(report.tasks, 'task')}, with valid schedules"
    used = [f"Database: process {report.used_by} uses it; a second server would be refused"] if report.used_by else []
    return [
        *(f"warning: {sentence}" for sentence in warnings),
        "Configuration: valid",
        f"Jobs: {len(jobs)} found: {', '.join(jobs)}" if jobs else "Jobs: none found",
        f"Database: {database}",
        *used,
    ]
