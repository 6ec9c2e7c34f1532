"""PgBouncer in transaction mode: each transaction gets another connection to the server."""

import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
from sqlalchemy import make_url

from tests.support.memory import DISK
from tests.support.ports import free_port
from tests.support.postgres import die_with_parent, make_folder, unprivileged_user
from tests.support.requirements import unavailable
from tests.support.waiting import wait_until

PROGRAM = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
SETTINGS = """
[databases]
{database} = host={host} port={port} dbname={database} user={role}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
server_reset_query_always = 1
server_tls_sslmode = disable
server_login_retry = 0.2
"""


class Pooler:
    """A running PgBouncer; `url` is the address to use instead of the server's.

    Args:
        url: Of the server.
        database: Which database of it.
        role: As whom everybody is let in.
    """

    def __init__(self, url: str, database: str, role: str) -> None:
        if PROGRAM is None:
            unavailable("PgBouncer", "as root, apt-get install pgbouncer")
        target, port, user = make_url(url), free_port(), unprivileged_user()
        self._folder: Path = make_folder(DISK, user)
        config = self._folder / "pgbouncer.ini"
        names = {"database": database, "role": role, "host": target.host, "port": target.port, "own_port": port}
        config.write_text(SETTINGS.format(**names))
        self._direct = f"postgresql://{role}@127.0.0.1:{port}/{database}"
        self.url = f"{self._direct}?pooler=transaction"
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [PROGRAM, str(config)],
                user=user,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, which takes no lock
            )

    def __enter__(self) -> Self:
        wait_until(self._answers, message="PgBouncer to let somebody in")
        return self

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            log = (self._folder / "log").read_text()
            raise RuntimeError(f"PgBouncer ended with status {self._process.returncode}:\n{log}")
        try:
            psycopg.connect(self._direct, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        if error is not None:
            sys.stderr.write((self._folder / "log").read_text()[-2000:])
        shutil.rmtree(self._folder, ignore_errors=True)
