"""``cronograph serve``: the server, all in one process."""

import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from ...jobs.builtin import builtin_jobs
from ...jobs.connection import connect
from ...jobs.core.base.errors import ConfigurationError
from ...jobs.registry import default_registry
from ...jobs.runtime.job.lines import keep_lines_of_jobs
from ...jobs.runtime.job.printing import guard_output
from ...jobs.store.db.base.passwords import without_password
from ...jobs.store.db.database import Database
from ..configuration.reading import InvalidSettingsError, load
from ..configuration.settings import DEFAULT_FILE, Settings
from ..preparation import prepare
from ..process.ending import end_broken, end_without
from ..process.logs import configure_logging
from ..process.stopping import survive_hang_up
from ..service import Service
from .base.options import AsJson, ConfigFile, Flags, Reload, takes_settings
from .base.output import Output

SIGN_IN = "by name and password at {url}/login; programs by API tokens (`cronograph token create`)"
NO_AUTH = "--no-auth: everybody on this machine is the administrator, nobody else can reach the server"
NO_JOBS = "the built-in ones only; name your own modules with --jobs, or see `cronograph demo`"


@takes_settings
def serve(flags: Flags, *, reload: Reload = False, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Serve the API and the dashboard, dispatch what is due, and run jobs.

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
        greeting: What is ready, in the line with the address.
        serves_api: See ``Service``.
    """
    survive_hang_up()
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
    if not serves_api:
        return "\n".join((f"  serves    {url}/health/ready, {url}/metrics", *lines))
    api = f"  API       {url}/graphql  (try it at {url}/graphiql)"
    return "\n".join((api, *lines, f"  sign-in   {NO_AUTH if settings.no_auth else SIGN_IN.format(url=url)}"))
