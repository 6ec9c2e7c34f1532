"""An empty place beside a database for trials: on the same server or disk, and gone afterwards."""

import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text

from .address import is_sqlite, parse_url, sqlite_path
from .opening import connected

_PREFIX = "cronograph_trial"


@contextmanager
def place_aside(database_url: str) -> Generator[str]:
    """The address of an empty place: a schema of its own in the same PostgreSQL database, or a file beside SQLite's.

    What the database holds is neither read nor changed. Whoever is told of the place closes it before the block ends.

    Raises:
        ConfigurationError: the address is of no form that is known.
        StorageError: the database cannot be reached, or the account may make no schema there.
    """
    url = parse_url(database_url)
    name = f"{_PREFIX}_{secrets.token_hex(6)}"
    if is_sqlite(url):
        yield from _file_aside(sqlite_path(url).with_name(f"{name}.db"))
        return
    _run(database_url, f"CREATE SCHEMA {name}")
    try:
        inside = url.set(drivername="postgresql").update_query_dict({"schema": name})
        yield inside.render_as_string(hide_password=False)
    finally:
        _run(database_url, f"DROP SCHEMA {name} CASCADE")


def _file_aside(path: Path) -> Generator[str]:
    try:
        yield f"sqlite:///{path}"
    finally:
        for left in path.parent.glob(f"{path.name}*"):
            left.unlink()


def _run(database_url: str, statement: str) -> None:
    with connected(database_url) as conn:
        conn.execute(text(statement))
        conn.commit()
