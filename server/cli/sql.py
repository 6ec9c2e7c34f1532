"""``cronograph sql``: the statements of the queue, and how the present database executes them."""

from typing import Annotated

import typer

from ...jobs.core.rules import unknown
from ...jobs.queue.base.statements import POSTGRES, SQLITE, names, plan, statement
from ...jobs.store.db.opening import connected
from .base.database_command import DatabaseCommand, database_command

Name = Annotated[
    str | None, typer.Argument(help="Of the statement, e.g. claim_lane; all unless given.", show_default=False)
]


@database_command
def sql(command: DatabaseCommand, name: Name = None) -> None:
    """Print the statements of the queue, each with its plan on the present database. Nothing is executed."""
    url = command.settings.database_url
    database = SQLITE if url.startswith("sqlite") else POSTGRES
    known = names(database)
    if name is not None and name not in known:
        raise unknown("statement", name, known, field="name")
    with connected(url) as connection:
        found = [(statement(database, one), plan(connection, one)) for one in ([name] if name is not None else known)]
    data = [
        {"name": one.name, "heading": one.heading, "parameters": one.parameters, "statement": one.text, "plan": lines}
        for one, lines in found
    ]
    texts = ["\n".join([f"-- {one.name}", f"{one.heading}\n", one.text, "Plan:", *lines]) for one, lines in found]
    command.result({"database": database, "statements": data}, "\n\n".join(texts))
