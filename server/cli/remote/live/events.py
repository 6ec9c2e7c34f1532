"""``cronograph events``: what happens, as it happens."""

from dataclasses import asdict
from datetime import datetime
from enum import Enum
from itertools import islice
from typing import Annotated, Any

import typer

from .....jobs.core.base.wording import time_text
from ..api import Api, at_server
from ..lists import stream_line
from ..values import camel


@at_server
def events(
    api: Api,
    after: Annotated[str | None, typer.Option("--after", metavar="CURSOR", help="Begin behind this event.")] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until Ctrl+C.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Without -f: so many events.")] = 1,
) -> None:
    """Show every change of every thing; nothing is missed when a connection is lost. JSON lines with --json."""
    found = api.client.events(after=after)
    try:
        for event in found if follow else islice(found, limit):
            data = {camel(name): _plain(name, value) for name, value in asdict(event).items() if value is not None}
            what = " ".join(f"{name}={value}" for name, value in data.items() if name not in {"cursor", "at", "kind"})
            stream_line(api, data, f"{data['at']} {event.kind} {what}")
    except KeyboardInterrupt:
        return


def _plain(name: str, value: Any) -> Any:  # noqa: ANN401 - as the API has it
    """A field of an event as the API writes it."""
    if isinstance(value, datetime):
        return time_text(value)
    return str(value) if name.endswith("_id") or isinstance(value, Enum) else value
