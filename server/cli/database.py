"""``cronograph migrate``, ``backup``, ``doctor`` and ``sql``: care of the database, without a server."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ...jobs.core.base.times import counted
from ...jobs.core.rules import unknown
from ...jobs.queue.base.statements import POSTGRES, SQLITE, every, names, plan
from ...jobs.store.db.address import is_sqlite, parse_url
from ...jobs.store.db.filelock import lock_for
from ...jobs.store.db.opening import connected
from ..configuration.reading import load
from ..configuration.secret_keys import key_file
from ..configuration.settings import Settings
from ..database.backup import back_up
from ..database.doctor import Finding, Level, examine, size
from ..database.schema import migrate as apply_migrations
from ..process.ending import ExitCode
from .base.database_command import DatabaseCommand, database_command
from .base.options import ConfigFile, DatabaseSchema, DatabaseUrl
from .base.output import Output, answering


@answering
def migrate(
    output: Output, database_url: DatabaseUrl = None, database_schema: DatabaseSchema = None, config: ConfigFile = None
) -> None:
    """Bring the database to the present schema.

    `serve` does the same at its start; this command is for those who want it as a step of its own. It works without a
    server, and refuses while one uses the same SQLite file.
    """
    settings = load({"database_url": database_url, "database_schema": database_schema}, config).settings
    lock = lock_for(settings.database_url)
    if lock is not None:
        lock.acquire()
    try:
        applied = apply_migrations(settings.database_url)
    finally:
        if lock is not None:
            lock.release()
    done = f"applied {', '.join(applied)}" if applied else "nothing to do, it is up to date"
    output.result({"ok": True, "applied": applied}, f"Database schema: {done}")


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
    key = _key_place(command.settings)
    sentences = [f"Back-up: {made.file} ({size(made.size)})", *([f"Line: {made.line}"] if made.line else [])]
    data: dict[str, Any] = {"file": str(made.file), "bytes": made.size, "line": made.line, "secretKey": key}
    command.result(data, "\n".join([*sentences, f"Key of secrets, which is not in it: {key}"]))


def _key_place(settings: Settings) -> str:
    """Return the place of the key of the secrets, in words."""
    file = key_file(settings)
    if file is None:
        return "CRONOGRAPH_SECRET_KEY" if settings.secret_key is not None else "none is set, so there are no secrets"
    return str(file.absolute()) if file.exists() else "none was made yet, so there are no secrets"


@answering
def doctor(output: Output, database_url: DatabaseUrl = None, config: ConfigFile = None) -> None:
    """Look at the database as an experienced operator would, and advise; nothing is changed.

    It looks at long transactions, dead rows and who keeps them, missing and invalid indexes, autovacuum, clocks,
    notifications, poolers, the read replica, connections, nodes and the disk. The exit status is 1 when there is a
    problem, else 0.
    """
    command = DatabaseCommand(database_url, config, output)
    url = command.check_database()
    findings = examine(url, command.settings.read_database_url)
    ok = all(one.level is not Level.PROBLEM for one in findings)
    kind = "sqlite" if is_sqlite(parse_url(url)) else "postgresql"
    data = {"ok": ok, "database": kind, "findings": [one.as_json() for one in findings]}
    output.result(data, "\n".join(_finding_lines(findings)))
    if not ok:
        raise typer.Exit(ExitCode.REFUSED)


def _finding_lines(findings: Sequence[Finding]) -> Iterator[str]:
    for one in findings:
        yield f"{one.level.value:<8} {one.check}: {one.says}"
        if one.advice:
            yield f"{'':<8} → {one.advice}"
    problems, advice = (sum(one.level is level for one in findings) for level in (Level.PROBLEM, Level.ADVICE))
    both = f"{counted(problems, 'problem')}, {counted(advice, 'piece of advice', 'pieces of advice')}"
    yield both if problems or advice else "All is well"


StatementName = Annotated[
    str | None, typer.Argument(help="Of the statement, e.g. claim_lane; all unless given.", show_default=False)
]


@database_command
def sql(command: DatabaseCommand, name: StatementName = None) -> None:
    """Print the statements of the queue, each with its plan on the present database. Nothing is executed."""
    url = command.check_database()
    database = SQLITE if url.startswith("sqlite") else POSTGRES
    known = names(database)
    if name is not None and name not in known:
        raise unknown("statement", name, known, field="name")
    with connected(url) as connection:
        found = [(one, plan(connection, one.name, one.form)) for one in every(database) if name in (None, one.name)]
    shown = ("name", "form", "heading", "parameters")
    data = [{**{key: getattr(one, key) for key in shown}, "statement": one.text, "plan": lines} for one, lines in found]
    texts = ["\n".join([f"-- {one.title}", f"{one.heading}\n", one.text, "Plan:", *lines]) for one, lines in found]
    command.result({"database": database, "statements": data}, "\n\n".join(texts))
