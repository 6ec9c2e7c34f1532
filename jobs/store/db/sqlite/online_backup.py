"""A copy of a SQLite file that is in use: of one moment, checked, and whole or not there at all."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from ....core.base.errors import StorageError
from ..base.address import OWNER_ONLY

MOST_FAULTS = 5
"""So many faults of a damaged file are named."""
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def copy_online(source: Path, target: Path) -> int:
    """Copy a database file while others read and write it; the size of the copy in bytes.

    The copy is what was committed at one moment. It is checked, can be read by its owner alone, and gets its name
    once it is complete and on the disk.

    Args:
        source: A file that is there.
        target: Its copy, which must not be there.

    Raises:
        StorageError: the file cannot be read, the copy cannot be written, or the copy is damaged; then nothing is left.
    """
    partial = target.with_name(f"{target.name}.partial")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
    except OSError as error:
        raise StorageError(f"back-up '{partial}': must be a new file that can be written: {error.strerror}") from None
    try:
        _copy(source, partial)
        _flush(partial)
        size = partial.stat().st_size
        partial.rename(target)
        _flush(target.parent)
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF in _DAMAGE:
            raise _damaged(source, str(error)) from error
        raise StorageError(f"database file '{source}': cannot be copied to '{target}': {error}") from error
    except OSError as error:
        raise StorageError(f"database file '{source}': cannot be copied to '{target}': {error}") from error
    finally:
        for left in (partial, *(Path(f"{partial}-{suffix}") for suffix in ("journal", "shm", "wal"))):
            left.unlink(missing_ok=True)
    return size


def _copy(source: Path, partial: Path) -> None:
    with closing(sqlite3.connect(partial)) as copy:
        with closing(sqlite3.connect(f"{source.as_uri()}?mode=rw", uri=True)) as original:
            # In one step, from one snapshot: in several, each write in between would begin it all over again.
            original.backup(copy)
        faults = [line for (line,) in copy.execute(f"PRAGMA integrity_check({MOST_FAULTS})") if line != "ok"]
        if faults:
            raise _damaged(source, "; ".join(faults))


def _damaged(source: Path, why: str) -> StorageError:
    return StorageError(
        f"database file '{source}': is damaged, so no back-up of it was kept: {why}; restore an older back-up"
    )


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
