"""``cronograph top``: what runs, live in the terminal."""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated

import typer

from .....jobs.core.base.errors import ConfigurationError
from ..api import Api, at_server
from .board import Board

Every = Annotated[float, typer.Option("--every", min=0.2, max=60, help="Seconds between two looks.")]


@at_server
def top(api: Api, every: Every = 1.0) -> None:
    """Follow what runs with its progress, the queue by group, nodes and failures, live in the terminal.

    Keys: c cancels a run, r retries a failed one, p pauses or resumes a group, Tab goes to the next table, q ends. It
    needs the extra `top` (pip install 'cronograph[top]'). With --json it shows one look and ends.
    """
    first = Board.of(api.ask(Board.document, **Board.amounts))
    if api.output.as_json:
        api.result(first.data, "")
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigurationError("top: needs a terminal; in a script use --json, or `cronograph stats --watch 2`")
    if find_spec("textual") is None:
        raise ConfigurationError("top: needs Textual; install it by pip install 'cronograph[top]'")
    # Textual takes a quarter of a second to import, which no other command needs.
    screen = import_module(".screen", __package__)
    screen.Top(api.url, first, every).run()
