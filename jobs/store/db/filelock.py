"""One process per SQLite file: an operating-system lock that dies with its holder and names it while it lives."""

import fcntl
import os
import struct
import sys
from pathlib import Path

from ...core.base.errors import FileLocked, StorageError
from .address import OWNER_ONLY, parse_url, sqlite_path

_FAR_BEHIND = 2**62
"""A byte that no database file reaches, and SQLite's own locks leave alone."""


class FileLock:
    """An exclusive lock of a SQLite file, and next to it one of ``<file>.lock``, which holds the id of the process.

    On Linux the file itself is locked, by any of its names: a second link, another mount, or a new name.
    Elsewhere its name decides. The kernel releases both when the process ends, however it ends: a lock file that is
    left over means nothing. It is never deleted, because a second process could then lock another file of the same
    name.
    """

    def __init__(self, database_file: Path) -> None:
        self._database_file = database_file.resolve()
        self.path = self._database_file.with_name(f"{self._database_file.name}.lock")
        self._handle: int | None = None
        self._database_handle: int | None = None

    def acquire(self) -> None:
        """Take the lock; nothing happens when this object holds it already.

        Raises:
            FileLocked: another process holds it; the message names its process id.
            StorageError: the lock file cannot be made or written.
        """
        if self._handle is not None:
            return
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY)
        except OSError as error:
            raise StorageError(
                f"lock file: must be a file that can be written, got '{self.path}': {error.strerror}"
            ) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 32).decode(errors="replace").strip()
            os.close(handle)
            raise FileLocked(self._refusal(holder)) from None
        try:
            self._database_handle = self._lock_database()
        except StorageError:
            os.close(handle)
            raise
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        self._handle = handle

    def _lock_database(self) -> int:
        """Lock the file itself, which is made if need be; returns its handle.

        Raises:
            FileLocked: a process holds it, by any name.
            StorageError: it cannot be opened for writing.
        """
        try:
            handle = os.open(self._database_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY)
        except OSError as error:
            raise StorageError(
                f"database '{self._database_file}': must be a file that can be written: {error.strerror}"
            ) from None
        if sys.platform == "linux":
            # A lock of the open file: unlike other record locks it outlives SQLite's closing of the same file.
            wanted = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, _FAR_BEHIND, 1, 0)
            try:
                fcntl.fcntl(handle, fcntl.F_OFD_SETLK, wanted)
            except BlockingIOError:
                os.close(handle)
                raise FileLocked(self._refusal("")) from None
        return handle

    def holder(self) -> str | None:
        """Return the id of the process that holds the lock now, ``"?"`` if it cannot be read, None if none does."""
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return os.read(handle, 32).decode(errors="replace").strip() or "?"
        finally:
            # Closing the handle gives the shared lock back, if it was got.
            os.close(handle)
        return None

    def release(self) -> None:
        """Give the lock back, once all connections are closed; nothing happens without it."""
        if self._database_handle is not None:
            os.close(self._database_handle)
            self._database_handle = None
        if self._handle is not None:
            os.ftruncate(self._handle, 0)
            os.close(self._handle)
            self._handle = None

    def _refusal(self, holder: str) -> str:
        process = f"process {holder}" if holder else "another process"
        return (
            f"database '{self._database_file}': must be used by one process at a time, and {process} uses it; "
            "stop that process, name another file, or use PostgreSQL for several nodes"
        )


def lock_for(database_url: str) -> FileLock | None:
    """Return the lock of the SQLite file behind a database URL, not taken yet; None on PostgreSQL, which needs none.

    Raises:
        ConfigurationError: the URL is of neither form.
    """
    url = parse_url(database_url)
    return FileLock(sqlite_path(url)) if url.get_backend_name() == "sqlite" else None


def write_through(path: Path) -> None:
    """Wait until a file's content, or a folder's list of files, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
