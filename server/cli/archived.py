"""Executions and their log lines that the server has deleted, read from the archive itself."""

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from ...graphql.client.command_line import ARCHIVE
from ...jobs.builtin.archive import Archive, ArchiveError
from ...jobs.core.base.errors import ConfigurationError
from ...jobs.core.base.times import time_text
from ...jobs.store.statements.archive import EXECUTIONS, LINES, Kind
from .base.output import Refused
from .remote.api import Api
from .remote.lists import EXECUTION_LIST, Shape, chosen, table
from .remote.values import camel, filter_of

VARIABLE: Final = "CRONOGRAPH_ARCHIVE_URL"
_FIELDS: Final[Mapping[str, str]] = {camel(column): column for column in EXECUTIONS.kinds}
_FILTERS: Final = {name: kind for name, kind in EXECUTION_LIST.fields.items() if name in _FIELDS}


def open_archive(api: Api) -> Archive:
    """Open the archive that the variable names, or else the server.

    Raises:
        Refused: there is none.
        ConfigurationError: PyArrow is not installed, or the address is wrong.
    """
    url = os.environ.get(VARIABLE)
    if not url:
        found = api.ask(ARCHIVE)["retention"]["archive"]
        if found is None:
            raise Refused(f"--archive: the server archives nothing; set {VARIABLE} to read an archive of another one")
        url = found["location"]
    return Archive(url)


@contextmanager
def _reading() -> Generator[None]:
    """Run a function that reads an archive.

    Raises:
        Refused: something of it cannot be read.
    """
    try:
        yield
    except (ArchiveError, OSError) as error:
        raise Refused(f"--archive: {error}") from None


@_reading()
def show_archived(api: Api, shape: Shape, fixed: Mapping[str, Any] | None) -> None:
    """Show executions of the archive, the newest first, with the options of the list of executions."""
    terms, columns, sort, limit, watch = shape
    if sort or watch is not None:
        raise ConfigurationError("--archive: shows the newest first, once; it does not go with --sort and --watch")
    asked = filter_of(terms or (), _FILTERS)
    archive = open_archive(api)
    condition = _condition(archive, {"and": [one for one in (asked, fixed) if one]})
    rows = [_row(row) for row in islice(_newest(archive, condition), limit)]
    of_people = table(rows, chosen(EXECUTION_LIST, columns)) if rows else "No executions"
    api.result(
        {"executions": rows, "archive": archive.location}, f"{of_people}\nFrom the archive at {archive.location}."
    )


@_reading()
def archived_lines(api: Api, key: int, *, execution: bool) -> Sequence[Mapping[str, Any]]:
    """Return the log lines of an execution, or of the newest one of a run.

    Raises:
        Refused: the archive does not have it.
    """
    archive, column = open_archive(api), "id" if execution else "run_id"
    condition = archive.condition(column, "eq", key)
    found = next(_newest(archive, condition), None)
    if found is None:
        raise Refused(f"{'execution' if execution else 'run'} {key} is not in the archive at {archive.location}")
    of_it = archive.condition("execution_id", "eq", found["id"])
    return list(archive.rows(found["completed_at"].date(), LINES, of_it))[::-1]


def _newest(archive: Archive, condition: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - PyArrow has no types
    for day in archive.days():
        yield from archive.rows(day, EXECUTIONS.name, condition)


def _condition(archive: Archive, filter: Mapping[str, Any]) -> Any:  # noqa: ANN401 - PyArrow has no types
    """Return a filter of the API's form as PyArrow has it; None = everything."""
    found = None
    for field, wanted in filter.items():
        if field == "and":
            parts = [_condition(archive, one) for one in wanted]
        else:
            column = _FIELDS[field]
            parts = [
                archive.condition(column, operator, _value(value, EXECUTIONS.kinds[column], field))
                for operator, value in wanted.items()
            ]
        for part in parts:
            found = part if found is None else found & part
    return found


def _value(value: Any, kind: Kind, field: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value as the archive has it."""
    if isinstance(value, list):
        several: list[Any] = [*value]
        return [_value(one, kind, field) for one in several]
    if isinstance(value, bool) or value is None:
        return value
    try:
        if kind == "whole":
            return int(value)
        if kind == "time":
            at = datetime.fromisoformat(value)
            return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except ValueError:
        wanted = "a whole number" if kind == "whole" else "a time such as 2026-11-01T06:00:00Z"
        raise ConfigurationError(f"--filter: {field} must be {wanted}, got {str(value)[:80]!r}") from None
    return value.lower() if field in {"outcome", "trigger"} else value


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return an execution as the API shows it, as far as the archive knows."""
    began, ended = row["started_at"], row["completed_at"]
    known = {name: row[column] for name, column in _FIELDS.items()}
    known |= {"id": str(row["id"]), "runId": str(row["run_id"]), "outcome": row["outcome"].upper()}
    known |= {"startedAt": time_text(began), "completedAt": time_text(ended), "trigger": row["trigger"].upper()}
    known["duration"] = (ended - began).total_seconds()
    return {name: known.get(name) for name in EXECUTION_LIST.columns}
