"""The command line: ``cronograph`` and its commands, one module each, named like its command."""

import io
import sys
from collections.abc import Sequence
from importlib import import_module

import typer

COMMANDS = (
    "audit",
    "bench",
    "serve",
    "demo",
    "check",
    "login",
    "logout",
    "migrate",
    "schema",
    "secret",
    "token",
    "trigger",
    "user",
    "version",
    "whoami",
)
HELP = """Durable schedules, a fair job queue and an execution log behind one GraphQL API, with a live dashboard.

Try it with `cronograph demo`.

Settings come from defaults, then cronograph.toml, then CRONOGRAPH_* variables, then flags; the later wins.
"""
EXIT_CODES = (
    "Exit status: 0 done, 1 refused or not in order, 2 wrong usage, configuration or job code, "
    "3 server or database not reachable, 4 port or database file in use."
)


def application(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """The command line with these commands; each brings its imports, the server's take a second."""
    app = typer.Typer(
        help=HELP,
        epilog=EXIT_CODES,
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    # With it a single command still has to be named.
    app.callback()(_nothing)
    for name in names:
        command = getattr(import_module(f".{name}", __package__), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command()(command)
    return app


def _nothing() -> None:
    pass


def main() -> None:
    """Run the command of this process' arguments; the entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character is no reason to fail.
            stream.reconfigure(errors="replace")
    named = sys.argv[1] if len(sys.argv) > 1 else ""
    application((named,) if named in COMMANDS else COMMANDS)()
