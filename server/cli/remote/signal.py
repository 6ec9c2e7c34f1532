"""``cronograph signal``: send a signal to a run that waits for it, or will."""

from typing import Annotated

import typer

from ....jobs.core.base.errors import ConfigurationError
from .api import Api, at_server
from .values import json_of


@at_server
def signal(
    api: Api,
    name: Annotated[str, typer.Argument(help="What the run waits for, e.g. approved.")],
    run: Annotated[int | None, typer.Option(metavar="ID", help="Which run.")] = None,
    unique_key: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The unique key of the unfinished run.")
    ] = None,
    payload: Annotated[
        str | None, typer.Option(metavar="JSON", help='What the signal brings along, e.g. \'{"by": "ada"}\'.')
    ] = None,
    reject: Annotated[str | None, typer.Option(metavar="REASON", help="The signal says no, for this reason.")] = None,
) -> None:
    """Send a signal to an unfinished run, on a running server.

    It stays with the run until a wait of this name takes it. The exit status is 0 when it was sent, 1 when the
    server refused, 3 when it cannot be reached.
    """
    if (run is None) == (unique_key is None):
        raise ConfigurationError("--run, --unique-key: name the run by one of the two")
    given = None if payload is None else json_of(payload, "--payload")
    sent = api.client.signal_run(name, given, id=run, unique_key=unique_key, reject=reject)
    api.result({"run": {"id": sent.id, "state": sent.state}}, f"Signal '{name}' was sent to run {sent.id}")
