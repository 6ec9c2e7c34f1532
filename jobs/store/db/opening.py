"""One connection for one purpose, outside the running engine: to migrate a database or to look at it."""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ...core.errors import StorageError
from .address import parse_url, sqlite_path
from .connecting import sync_engine


@contextmanager
def connected(database_url: str) -> Generator[Connection]:
    """A connection that is closed at the end of the block; a transaction left open is rolled back.

    Raises:
        ConfigurationError: the URL is of no form that is known.
        StorageError: the database cannot be reached or used; names it, without its password, and the reason.
    """
    url = parse_url(database_url)
    engine = sync_engine(url)
    try:
        with engine.connect() as connection:
            yield connection
    except DBAPIError as error:
        plain = url.set(drivername=url.get_backend_name())
        name = f"file '{sqlite_path(url)}'" if plain.drivername == "sqlite" else plain.render_as_string()
        reason = re.sub(r"\s+", " ", str(error.orig)).strip()
        raise StorageError(f"database {name}: cannot be used: {reason}") from error
    finally:
        engine.dispose()


def make_private(database_url: str) -> None:
    """Make the SQLite file that is not there yet, for its owner alone; what SQLite puts beside it is like it.

    It will hold the arguments of jobs and hashes of credentials. Where no file can be made, whoever connects says so.
    """
    if exists(database_url):
        return
    path = sqlite_path(parse_url(database_url))
    if path.parent.is_dir() and os.access(path.parent, os.W_OK):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def exists(database_url: str) -> bool:
    """Whether there is a database to connect to; False only for a SQLite file that has not been made yet."""
    url = parse_url(database_url)
    return url.get_backend_name() != "sqlite" or sqlite_path(url).exists()
