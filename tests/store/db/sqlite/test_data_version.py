"""Who looks for work on a SQLite file learns for next to nothing whether anybody has committed."""

import sqlite3
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from cronograph.jobs.store.db.database import parse_url, sqlite_path
from cronograph.jobs.store.db.sqlite import DataVersion, FilePresence

COMMIT = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("UPDATE event_publisher SET last_seq = last_seq + 1")
connection.commit()
connection.close()
"""


def commit_elsewhere(path: Path) -> None:
    subprocess.run([sys.executable, "-S", "-c", COMMIT, str(path)], check=True)


def test_a_commit_of_this_process_or_of_another_is_seen_and_nothing_else(sqlite_url: str) -> None:
    path = sqlite_path(parse_url(sqlite_url))
    witness = DataVersion(path, FilePresence(path))
    seen = [witness.version(), witness.version()]
    commit_elsewhere(path)
    seen += [witness.version(), witness.version()]
    connection = sqlite3.connect(path)
    connection.execute("UPDATE event_publisher SET last_seq = last_seq + 1")
    seen.append(witness.version())
    connection.rollback()
    seen.append(witness.version())
    connection.execute("UPDATE event_publisher SET last_seq = last_seq + 1")
    connection.commit()
    connection.close()
    seen.append(witness.version())
    witness.close()
    assert None not in seen
    assert [one != before for before, one in pairwise(seen)] == [
        False,
        True,
        False,
        False,
        False,
        True,
    ]


def test_a_file_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    witness = DataVersion(path, FilePresence(path))
    assert witness.version() is None
    assert not path.exists()
    witness.close()


def test_another_file_in_its_place_is_not_opened_and_the_first_goes_on_once_it_is_back(sqlite_url: str) -> None:
    """SQLite would take the log of the first for that of the other, and remove it with the last connection."""
    path = sqlite_path(parse_url(sqlite_url))
    away, log = path.with_name("away.db"), path.with_name(f"{path.name}-wal")
    writer = sqlite3.connect(path)
    writer.execute("UPDATE event_publisher SET last_seq = last_seq + 1")
    writer.commit()
    witness = DataVersion(path, FilePresence(path))
    before, logged = witness.version(), log.read_bytes()
    path.rename(away)
    assert witness.version() is None
    path.write_bytes(away.read_bytes())
    assert witness.version() is None
    witness.close()
    assert witness.version() is None
    assert log.read_bytes() == logged
    away.replace(path)
    assert before is not None
    assert witness.version() is not None
    writer.execute("UPDATE event_publisher SET last_seq = last_seq + 1")
    writer.commit()
    writer.close()
    witness.close()


def test_a_file_that_cannot_be_asked_now_reports_nothing(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    path.write_bytes(b"no database at all" * 1000)
    witness = DataVersion(path, FilePresence(path))
    assert witness.version() is None
    witness.close()
