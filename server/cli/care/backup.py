"""``cronograph backup``: a back-up of the database while nodes work on it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ...configuration.secret_keys import key_file
from ...configuration.settings import Settings
from ...database.backup import back_up
from ...database.findings import size
from ..base.database_command import DatabaseCommand
from ..base.options import ConfigFile, DatabaseUrl
from ..base.output import Output, answering


@answering
def backup(
    output: Output,
    file: Annotated[Path, typer.Argument(help="Where to; a file that is not there yet.")],
    database_url: DatabaseUrl = None,
    config: ConfigFile = None,
) -> None:
    """Back up the database, while nodes go on working.

    A SQLite file is copied as it was at one moment, and the copy is checked. For PostgreSQL this runs `pg_dump` for
    the schema of the tables, and prints the line. The key of secrets is never in a back-up: keep it apart.
    """
    command = DatabaseCommand(database_url, config, output)
    made = back_up(command.check_database(), file)
    key = _key(command.settings)
    sentences = [f"Back-up: {made.file} ({size(made.size)})", *([f"Line: {made.line}"] if made.line else [])]
    data: dict[str, Any] = {"file": str(made.file), "bytes": made.size, "line": made.line, "secretKey": key}
    command.result(data, "\n".join([*sentences, f"Key of secrets, which is not in it: {key}"]))


def _key(settings: Settings) -> str:
    """Where the key of the secrets is kept, in words."""
    file = key_file(settings)
    if file is None:
        return "CRONOGRAPH_SECRET_KEY" if settings.secret_key is not None else "none is set, so there are no secrets"
    return str(file.absolute()) if file.exists() else "none was made yet, so there are no secrets"
