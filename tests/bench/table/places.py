"""The databases of the table of speeds: each is filled once, and every round works on a copy."""

import functools
import shutil
import tempfile
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

import uvloop

from cronograph.jobs.actions.runs import put
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.store.db.database import Database
from tests.bench.bench_scale import fill as fill_waiting
from tests.bench.bench_scale import fill_log
from tests.bench.large_log import Size, settle, vacuum
from tests.bench.large_log import fill as fill_month
from tests.support.databases import sqlite_address
from tests.support.memory import DISK
from tests.support.postgres import PostgresServer
from tests.support.schema import migrate

GROUP = "group-0"
"""In which everything waits."""
P = ParamSpec("P")
T = TypeVar("T")


def apart(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a function returns in a new process, which has nothing else in its memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


@dataclass(frozen=True)
class Places:
    """Where the rounds take place.

    Attributes:
        server: The PostgreSQL.
        folder: For files of SQLite.
        part: Of every size, e.g. 0.01 to see that everything works.
    """

    server: PostgresServer
    folder: Path
    part: float
    _files: dict[str, Path] = field(default_factory=dict[str, Path])

    def size(self, number: int, least: int = 20) -> int:
        """A size, or a part of it."""
        return max(least, round(number * self.part))

    @property
    def pid(self) -> int:
        """Of the server."""
        return self.server.process.pid

    @contextmanager
    def empty(self, kind: str = "postgres") -> Generator[str]:
        """A migrated database."""
        with self._copy(kind, "empty", migrate) as url:
            yield url

    @contextmanager
    def bare(self) -> Generator[str]:
        """A database of PostgreSQL without tables."""
        name = self.server.create_database()
        try:
            yield self.server.url(name)
        finally:
            self.server.drop_database(name)

    @contextmanager
    def waiting(self, runs: int) -> Generator[str]:
        """So many runs of ``nothing`` that wait in one group, vacuumed."""
        with self._copy("postgres", f"{runs} waiting", functools.partial(_fill_vacuumed, runs=runs)) as url:
            yield url

    @contextmanager
    def month(self, executions: int, kind: str = "postgres") -> Generator[str]:
        """A log of so many executions of thirty days, settled."""
        with self._copy(kind, f"{executions} executions", functools.partial(_fill_month, executions=executions)) as url:
            yield url

    @contextmanager
    def busy_hour(self, kind: str, executions: int) -> Generator[str]:
        """So many executions in the hour before now, and as many before that; filled for each round."""
        with self.empty(kind) as url:
            apart(fill_log, url, kind, 2 * executions, executions)
            yield url

    @contextmanager
    def _copy(self, kind: str, name: str, prepare: Callable[[str], None]) -> Generator[str]:
        if kind == "postgres":
            copied = self.server.create_database(self.server.template(name, lambda url: apart(prepare, url)))
            try:
                yield self.server.url(copied)
            finally:
                self.server.drop_database(copied)
            return
        if name not in self._files:
            self._files[name] = self.folder / f"{name}.db"
            apart(prepare, sqlite_address(self._files[name]))
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            for file in self.folder.glob(f"{name}.db*"):
                shutil.copy(file, folder)
            yield sqlite_address(folder / self._files[name].name)
        finally:
            shutil.rmtree(folder)


def _fill_vacuumed(url: str, runs: int) -> None:
    fill_queue(url, runs)
    vacuum(url)


def fill_queue(url: str, runs: int) -> None:
    """Make an empty database one in which so many runs of ``nothing`` wait in one group."""
    migrate(url)
    uvloop.run(_put_one(url))
    fill_waiting(url, "postgres", runs - 1, 1)


async def _put_one(url: str) -> None:
    database = Database(url)
    await database.write(put, [NewRun("nothing", Trigger.API, group=GROUP)])
    await database.close()


def _fill_month(url: str, executions: int) -> None:
    migrate(url)
    fill_month(url, Size(executions, 0, datetime.now(UTC)))
    settle(url)


@contextmanager
def places(server: PostgresServer, part: float) -> Generator[Places]:
    """Places on this server; the files are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="cronograph-table-", dir=DISK))
    try:
        yield Places(server, folder, part)
    finally:
        shutil.rmtree(folder)
