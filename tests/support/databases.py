"""Databases with the present schema, one per test: SQLite files, and either kind in turn."""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from cronograph.jobs.store.db.database import Database, parse_url, sync_engine
from tests.support.transitions import migrate_watched


def sqlite_address(path: Path) -> str:
    """The address of a SQLite file: three slashes, then the absolute path with its own."""
    return f"sqlite:///{path}"


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the present schema, made once per session and copied for each test."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    migrate_watched(sqlite_address(path))
    return path


@pytest.fixture
def empty_sqlite_url(tmp_path: Path) -> str:
    """The address of a SQLite file that does not exist yet."""
    return sqlite_address(tmp_path / "empty.db")


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_template: Path) -> str:
    """The address of a fresh SQLite file with the present schema."""
    path = tmp_path / "cronograph.db"
    for part in sqlite_template.parent.glob("template.db*"):
        shutil.copy(part, path.with_name(part.name.replace("template", "cronograph")))
    return sqlite_address(path)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str:
    """The address of a fresh database with the present schema: the test runs once on SQLite, once on PostgreSQL."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def empty_database_url(request: pytest.FixtureRequest) -> str:
    """The address of a fresh database without any table, once on SQLite and once on PostgreSQL."""
    url: str = request.getfixturevalue(f"empty_{request.param}_url")
    return url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A fresh database as the product opens it."""
    database = Database(database_url)
    yield database
    await database.close()


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    """A connection to a fresh database, in one transaction."""
    engine = sync_engine(parse_url(database_url))
    with engine.begin() as connection:
        yield connection
    engine.dispose()
