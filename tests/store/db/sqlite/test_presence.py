"""A file that is moved away at the moment when a connection is opened loses nothing, and nothing takes its place."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from cronograph.jobs.store.db.database import OperationalError, parse_url, sync_engine
from cronograph.jobs.store.db.sqlite import DataVersion, FilePresence
from tests.support.databases import sqlite_address


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that does not exist yet."""
    return tmp_path / "queue.db"


@pytest.fixture
def user(path: Path) -> Iterator[Engine]:
    """Keeps the file open, with a row that is in its log alone."""
    engine = sync_engine(parse_url(sqlite_address(path)))
    with engine.connect() as held:
        held.exec_driver_sql("CREATE TABLE kept (number INTEGER)")
        held.exec_driver_sql("INSERT INTO kept VALUES (1)")
        held.commit()
        yield engine
    engine.dispose()


class Moved(FilePresence):
    """Knows the file, and says so; right after its first answer the file is moved away.

    Args:
        path: Which.
        replaced: Whether an empty one is put in its place.
    """

    def __init__(self, path: Path, *, replaced: bool) -> None:
        super().__init__(path)
        super().check()
        self._from, self._replaced = path, replaced
        self.elsewhere = path.with_name("elsewhere.db")

    def check(self) -> bool:
        """Return whether it is there."""
        answer = super().check()
        if not self.elsewhere.exists():
            self._from.rename(self.elsewhere)
            if self._replaced:
                self._from.touch()
        return answer


def by_engine(path: Path, presence: FilePresence) -> None:
    """Open a connection as reads and writes do."""
    engine = sync_engine(parse_url(sqlite_address(path)), is_there=presence.check)
    with pytest.raises(OperationalError, match=r"unable to open database file|was replaced by another file"):
        engine.connect()


def by_data_version(path: Path, presence: FilePresence) -> None:
    """Open the connection that asks whether anybody has committed."""
    witness = DataVersion(path, presence)
    assert witness.version() is None
    witness.close()


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("connect", [by_engine, by_data_version])
def test_a_file_that_is_moved_away_while_it_is_opened_keeps_what_is_in_its_log(
    path: Path, user: Engine, connect: Callable[[Path, FilePresence], None], *, replaced: bool
) -> None:
    presence = Moved(path, replaced=replaced)
    connect(path, presence)
    assert path.exists() is replaced
    presence.elsewhere.rename(path)
    with user.connect() as another:
        assert another.exec_driver_sql("SELECT number FROM kept").scalar_one() == 1
