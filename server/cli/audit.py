"""``cronograph audit``: whether the audit log is whole, and all of it as lines of JSON."""

import json
from dataclasses import fields
from typing import Annotated

import typer

from ...jobs.accounts.read.audit import Unreadable, chain
from ...jobs.accounts.read.audit import verify as verify_chain
from ...jobs.core.audit import Entry, described
from ...jobs.store.db.opening import connected
from ..process.ending import ExitCode
from .base.application import CommandLine
from .base.database_command import DatabaseCommand, database_command
from .base.output import print_line
from .remote.values import camel

audit = CommandLine(help="Look at the audit log, straight in the database.", no_args_is_help=True)


@audit.command()
@database_command
def verify(
    command: DatabaseCommand,
    expect: Annotated[
        str | None, typer.Option("--expect", help="A hash that was printed before and must still be in the chain.")
    ] = None,
) -> None:
    """Compute the chain of hashes again; the status is 1 if an entry was changed or is missing.

    Keep the newest hash somewhere else: with `--expect` a rewritten chain is noticed, too.
    """
    with connected(command.check_database()) as connection:
        found = verify_chain(connection)
        known = expect is None or any(stored == expect for _, stored in chain(connection))
    fault = found.fault or (None if known else f"no entry has the hash {expect}")
    if fault is not None:
        command.output.failed([f"audit log: {fault}"], ExitCode.REFUSED)
        raise typer.Exit(ExitCode.REFUSED)
    words = f"The audit log is whole: {found.entries} entries; the newest has the hash {found.newest}"
    command.result({"entries": found.entries, "newest": found.newest}, words)


@audit.command()
@database_command
def export(command: DatabaseCommand) -> None:
    """Write all entries to standard output, the oldest first, one JSON object a line.

    An entry that cannot be read has `unreadable` in the place of its contents, and the status is 1.
    """
    faults: list[str] = []
    with connected(command.check_database()) as connection:
        for entry, stored in chain(connection):
            if isinstance(entry, Unreadable):
                faults.append(f"audit log: entry {entry.id} cannot be read: {entry.fault}")
                print_line(json.dumps({"id": entry.id, "unreadable": entry.fault, "hash": stored}))
            else:
                print_line(json.dumps({**_line(entry), "hash": stored}))
    if faults:
        command.output.failed(faults, ExitCode.REFUSED)
        raise typer.Exit(ExitCode.REFUSED)


def _line(entry: Entry) -> dict[str, object]:
    values = {camel(one.name): getattr(entry, one.name) for one in fields(entry)}
    texts = {"before": described(entry.before), "after": described(entry.after)}
    return {**values, **texts, "at": entry.at.isoformat()}
