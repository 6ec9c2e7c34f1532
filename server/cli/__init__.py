"""The command line: ``cronograph`` and its commands."""

import io
import keyword
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from ..process.ending import ExitCode
from .base.application import CommandLine, PlainGroup, unloaded

MODULES = {
    ".accounts": ("audit", "secret", "token", "user"),
    ".bench": ("bench",),
    ".database": ("backup", "doctor", "migrate", "sql"),
    ".demo": ("demo",),
    ".executors": ("executors",),
    ".import_": ("import",),
    ".remote.alarms": ("alarms", "channels"),
    ".remote.cluster": ("groups", "jobs", "nodes", "stats"),
    ".remote.enqueue": ("enqueue", "trigger"),
    ".remote.failures": ("failures",),
    ".remote.hooks": ("addresses", "hooks"),
    ".remote.logs": ("events", "log", "logs"),
    ".remote.runs": ("flows", "runs", "signal"),
    ".remote.running": ("exec",),
    ".remote.sets": ("apply", "export", "plan"),
    ".remote.tasks": ("tasks",),
    ".remote.top": ("top",),
    ".remote.webhooks": ("webhooks",),
    ".schedule": ("schedule",),
    ".schema": ("schema",),
    ".serving": ("check", "serve", "worker"),
    ".sign_in": ("login", "logout", "whoami"),
    ".version": ("version",),
}
"""The commands of each module, where a function has the name of its command; `remote` speaks to a running server."""
MODULE_OF = {name: module for module, names in MODULES.items() for name in names}
COMMANDS = tuple(sorted(MODULE_OF))
HELP = """Durable schedules, a fair job queue and an execution log behind one GraphQL API, with a live dashboard.

Try it with `cronograph demo`.

Settings come from defaults, then cronograph.toml, then CRONOGRAPH_* variables, then flags; the later wins.
"""
EXIT_CODES = (
    "Exit status: 0 done; 1 refused or not in order; 2 wrong usage, configuration or job code; "
    "3 server or database not reachable; 4 port or database file in use; "
    "5 code of a job that would not end was cut off; 6 something differs (plan --detailed-exitcode), or the event loop "
    "of the jobs had ended (serve); 130 and 143 ended by a second signal, more than a second later."
)


class _AllCommands(PlainGroup):
    """The commands that were imported, and the names and summaries of all others."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer's own copy of click has no public name
        """Return all of them, by the alphabet."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - see above
        """Return the command, or as much as is known of it."""
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in COMMANDS:
            return unloaded(_in_python(cmd_name), f"{__package__}{MODULE_OF[cmd_name]}", cmd_name)
        return found

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - see above
        """Return the command that is named; a name that no command has gets the nearest ones."""
        if args[0] not in COMMANDS:
            self.commands = {name: self.get_command(ctx, name) for name in COMMANDS}
        return super().resolve_command(ctx, args)


def application(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """Return the command line that can run these commands; each brings its imports, the server's take a second."""
    app = CommandLine(
        cls=_AllCommands,
        help=HELP,
        epilog=EXIT_CODES,
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    # With it a single command still has to be named.
    app.callback(invoke_without_command=True)(_root)
    for name in names:
        module = import_module(MODULE_OF[name], __package__)
        command = getattr(module, _in_python(name))
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _in_python(command: str) -> str:
    """Return the name of a command's function: ``import`` is a word of the language."""
    return f"{command}_" if keyword.iskeyword(command) else command


def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.", is_eager=True)] = False,
) -> None:
    if version:
        # Imported here, since the list of commands does without the library.
        installed = import_module("..process.version", __package__).installed_version()
        sys.stdout.write(f"cronograph {installed}\n")
        raise typer.Exit


def main() -> None:
    """Run the command of this process' arguments; the entry point of the console script."""
    # A parent that has closed them, as a service manager may, gives Python none.
    sys.stdout, sys.stderr = (stream or Path(os.devnull).open("w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115 - to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character is no reason to fail.
            stream.reconfigure(errors="replace")
    # A shell that completes a line gives it in a variable: bash in the one, zsh and fish in the other.
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS")
    words = line.split() if line else sys.argv
    app = application(tuple(one for one in words[1:2] if one in COMMANDS))
    if "--json" not in sys.argv:
        app()
    sys.exit(_in_json(app))


def _in_json(app: typer.Typer) -> int:
    """Run a command for a program, with faults of its command line as JSON, too; return the exit status."""
    try:
        return int(app(standalone_mode=False) or ExitCode.DONE)
    except typer.TyperException as error:
        import_module(".base.output", __package__).Output(as_json=True).failed([error.format_message()], ExitCode.USAGE)
        return ExitCode.USAGE
    except typer.Abort:
        return ExitCode.REFUSED
