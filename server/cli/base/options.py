"""The options that several commands share; those that are settings are declared once for `serve` and `check`."""

import functools
import inspect
from collections.abc import Callable, Collection, Sequence
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, Concatenate, Final, ParamSpec, TypeAlias

import typer

P = ParamSpec("P")

Flags: TypeAlias = dict[str, Any]
"""Setting name to value as given on the command line; None = not given."""

Host = Annotated[
    str | None,
    typer.Option(
        "--host",
        help="Name or address to listen on; outside of loopback with TLS and --public-url only. (default: localhost)",
    ),
]
Port = Annotated[
    str | None, typer.Option("--port", metavar="INTEGER", help="TCP port; 0 = any free one. (default: 8000)")
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        help="sqlite:///relative.db, sqlite:////absolute.db or postgresql://… (default: sqlite:///cronograph.db)",
    ),
]
DatabaseSchema = Annotated[
    str | None,
    typer.Option(
        "--database-schema", metavar="NAME", help="PostgreSQL: the schema of the tables. (default: cronograph)"
    ),
]
DemoDatabaseUrl = Annotated[str, typer.Option("--database-url", help="Where the demo keeps its data.")]
Jobs = Annotated[
    list[str] | None,
    typer.Option("--jobs", metavar="MODULES", help="Modules to import jobs from: a,b, or repeat it for more."),
]
Reload = Annotated[
    bool, typer.Option("--reload", help="Restart when a Python file of the project changes; for development.")
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="Configuration file. (default: cronograph.toml, if there is one)")
]
Create = Annotated[bool, typer.Option("--create", help="Make the database if there is none; refused otherwise.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON for programs instead of text for people.")]
ServerUrl = Annotated[
    str,
    typer.Option("--url", envvar="CRONOGRAPH_URL", show_envvar=True, help="Address of the server to talk to."),
]
DEFAULT_SERVER = "http://localhost:8000"
"""Address of ``cronograph serve`` by default."""


def _flag(flag: str, says: str, metavar: str | None = None, kind: object = str | None) -> Any:  # noqa: ANN401 - an annotation
    return Annotated[kind, typer.Option(flag, metavar=metavar, help=says)]


def _several(flag: str, says: str, metavar: str) -> Any:  # noqa: ANN401 - an annotation
    return _flag(flag, says, metavar, list[str] | None)


SETTINGS: Final[dict[str, Any]] = {
    "host": Host,
    "port": Port,
    "database_url": DatabaseUrl,
    "database_schema": DatabaseSchema,
    "jobs": Jobs,
    "tasks": _flag("--tasks", "A file or folder of tasks to apply at the start, and again at SIGHUP.", "PATH"),
    "node_name": _flag("--node-name", "Name of this process among the nodes. (default: a random one)"),
    "slots": _flag("--slots", "Runs at once. (default: 1500)", "INTEGER"),
    "thread_slots": _flag("--thread-slots", "How many of them in threads. (default: 20)", "INTEGER"),
    "process_slots": _flag("--process-slots", "How many of them in processes. (default: one a core)", "INTEGER"),
    "preload": _flag("--preload", "Import the modules of process jobs before forking.", kind=bool),
    "prefetch": _flag("--prefetch", "Runs claimed ahead of free slots. (default: 0)", "INTEGER"),
    "counting_scheme": _flag("--counting-scheme", "HIGH, then LOW runs of a group's turn. (default: 2,1)", "HIGH,LOW"),
    "groups": _several("--groups", "Take only runs of these groups: a,b, or repeat it. (default: all)", "NAMES"),
    "only_jobs": _several("--only-jobs", "Take only runs of these jobs: a,b, or repeat it. (default: all)", "NAMES"),
    "tags": _several("--tags", "Take only jobs with one of these tags. (default: any)", "TAGS"),
    "without_tags": _several("--without-tags", "Take no job with one of these tags.", "TAGS"),
    "heartbeat": _flag("--heartbeat", "Between two signs of life. (default: 15)", "SECONDS"),
    "lease": _flag("--lease", "After which a silent node's runs are taken over. (default: 60)", "SECONDS"),
    "code_version": _flag("--code-version", "Of jobs that say none: runs that wait stay with it.", "WORD"),
    "drain_timeout": _flag("--drain-timeout", "For running jobs at a stop; 0 = wait for all. (default: 25)", "SECONDS"),
    "log_level": _flag("--log-level", "debug, info, warning or error. (default: info)", "LEVEL"),
    "public_url": _flag("--public-url", "The address people use, e.g. https://cron.example.com."),
    "tls_cert": _flag("--tls-cert", "Certificate chain in PEM form, to speak TLS."),
    "tls_key": _flag("--tls-key", "Private key of the certificate."),
    "trusted_proxies": _flag("--trusted-proxies", "Networks of proxies that end TLS, separated by commas."),
    "setup_public": _flag(
        "--setup-public", "Let the set-up link be used from elsewhere, at the first start.", kind=bool
    ),
    "no_auth": _flag("--no-auth", "Serve without sign-in, for trials; accepted on loopback only.", kind=bool),
}
"""Each of them, and how its flag is written."""
_SWITCHES: Final = frozenset({"preload", "setup_public", "no_auth"})
OF_THE_API: Final = frozenset({"host", "port", "tls_cert", "tls_key", "trusted_proxies", "setup_public", "no_auth"})
"""Settings about how people and programs reach the API, and who may come in."""


def takes_settings(command: Callable[Concatenate[Flags, P], None], but: Collection[str] = ()) -> Callable[..., None]:
    """Return a command with settings as flags before its own, except ``but``; its first argument has their values."""
    taken = {name: annotation for name, annotation in SETTINGS.items() if name not in but}

    def taking(*args: P.args, **given: P.kwargs) -> None:
        values: dict[str, Any] = given
        # An empty list and a switch that is off were not given.
        flags = {name: values.pop(name, None) or None for name in taken}
        command(flags, *args, **given)

    shared = [
        option(name, annotation, default=False if name in _SWITCHES else None) for name, annotation in taken.items()
    ]
    return with_options(command, taking, before=shared)


def option(name: str, annotation: object, default: object = None) -> Parameter:
    """Return an option that a command takes besides those of its own function."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def with_options(
    command: Callable[..., None],
    call: Callable[..., None],
    *,
    before: Sequence[Parameter] = (),
    after: Sequence[Parameter] = (),
) -> Callable[..., None]:
    """Make ``call`` the command: with its options, but for the first, between ``before`` and ``after``."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    every = [*before, *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own), *after]
    functools.update_wrapper(call, command)
    # What a command takes is what typer makes its command line of.
    vars(call)["__signature__"] = inspect.Signature(every)
    call.__annotations__ = {one.name: one.annotation for one in every}
    return call
