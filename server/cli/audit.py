"""``cronograph audit``: whether the audit log is whole, and all of it as lines of JSON."""

import json
from typing import Annotated

import typer

from ...jobs.core.auth.audit import Entry
from ...jobs.store.db.opening import connected
from ...jobs.store.read.auth.audit import chain
from ...jobs.store.read.auth.audit import verify as verify_chain
from ..configuration.reading import load
from ..process.ending import ExitCode
from .options import AsJson, ConfigFile, DatabaseUrl
from .output import Output, print_line

audit = typer.Typer(help="Look at the audit log, straight in the database.", no_args_is_help=True)


@audit.command()
def verify(
    expect: Annotated[
        str | None, typer.Option("--expect", help="A hash that was printed before and must still be in the chain.")
    ] = None,
    database_url: DatabaseUrl = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Compute the chain of hashes anew; the status is 1 if an entry was changed or is missing.

    Keep the newest hash somewhere else: with `--expect` a chain that was written anew is noticed, too.
    """
    output = Output(as_json=as_json)
    with output.errors():
        with connected(load({"database_url": database_url}, config).settings.database_url) as connection:
            found = verify_chain(connection)
            known = expect is None or any(stored == expect for _, stored in chain(connection))
        fault = found.fault or (None if known else f"no entry has the hash {expect}")
        if fault is not None:
            output.failed([f"audit log: {fault}"], ExitCode.REFUSED)
            raise typer.Exit(ExitCode.REFUSED)
        words = f"The audit log is whole: {found.entries} entries; the newest has the hash {found.newest}"
        output.result({"ok": True, "entries": found.entries, "newest": found.newest}, words)


@audit.command()
def export(database_url: DatabaseUrl = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Write all entries to standard output, the oldest first, one JSON object a line."""
    output = Output(as_json=as_json)
    with (
        output.errors(),
        connected(load({"database_url": database_url}, config).settings.database_url) as connection,
    ):
        for entry, stored in chain(connection):
            print_line(json.dumps({**_line(entry), "hash": stored}))


def _line(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.id,
        "at": entry.at.isoformat(),
        "actor": entry.actor,
        "actorId": entry.actor_id,
        "address": entry.address,
        "action": entry.action,
        "subject": entry.subject,
        "before": None if entry.before is None else json.loads(entry.before),
        "after": None if entry.after is None else json.loads(entry.after),
    }
