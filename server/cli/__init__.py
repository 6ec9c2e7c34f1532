"""The command line: ``cronograph`` and its commands, one module each."""

import io
import sys

import typer

from .check import check
from .demo import demo
from .migrate import migrate
from .schema import schema
from .serve import serve
from .trigger import trigger
from .version import version

HELP = """Durable schedules, a fair job queue and an execution log behind one GraphQL API, with a live dashboard.

Try it with `cronograph demo`.

Settings come from defaults, then cronograph.toml, then CRONOGRAPH_* variables, then flags; the later wins.
"""
EXIT_CODES = (
    "Exit status: 0 done, 1 refused or not in order, 2 wrong usage, configuration or job code, "
    "3 server or database not reachable, 4 port or database file in use."
)

app = typer.Typer(
    help=HELP,
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (serve, demo, check, migrate, schema, trigger, version):
    app.command()(command)


def main() -> None:
    """Run the command of this process' arguments; the entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character is no reason to fail.
            stream.reconfigure(errors="replace")
    app()
