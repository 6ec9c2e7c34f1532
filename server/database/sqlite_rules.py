"""What is to be said about a SQLite file: pure rules."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ...jobs.store.read.health.sqlite import SqliteHealth
from .findings import Finding, Level, graded, size

LONG_LOG: Final = (256e6, 4e9)
"""Bytes of the write-ahead log from which on there is advice, and a problem."""
FREE_SHARE: Final = 0.5
SMALL: Final = 100e6
"""Free pages of a smaller file cost nothing."""
NETWORK: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "9p", "glusterfs", "fuse.sshfs"})
"""File systems on which the locks of SQLite do not hold, or not always."""


def judge_sqlite(health: SqliteHealth, path: Path, log_bytes: int, file_system: str | None) -> Iterator[Finding]:
    """All that is to be said.

    Args:
        health: What the file says.
        path: Where it is.
        log_bytes: Size of the write-ahead log next to it.
        file_system: The kind it is on; None if the machine does not tell.
    """
    if health.faults:
        advice = "stop the server and restore the last back-up; keep the damaged file"
        yield Finding("integrity", Level.PROBLEM, "the file is damaged: " + "; ".join(health.faults), advice)
    else:
        yield Finding("integrity", Level.OK, f"'{path}' is whole, {size(health.bytes)}")
    says = f"the write-ahead log has {size(log_bytes)}"
    advice = "a reader holds it: end other programs that have the file open, or restart the server"
    yield graded("log", log_bytes, *LONG_LOG, says, advice)
    if health.free_bytes > max(SMALL, FREE_SHARE * health.bytes):
        says = f"{size(health.free_bytes)} of {size(health.bytes)} hold nothing"
        yield Finding("bloat", Level.ADVICE, says, f"stop the server, then sqlite3 {path} VACUUM")
    else:
        yield Finding("bloat", Level.OK, "the file has no more room than it needs")
    if file_system in NETWORK:
        says = f"the file is on a network file system ({file_system}), where locks do not always hold"
        yield Finding("place", Level.PROBLEM, says, "move it to a disk of this machine, or use PostgreSQL")
