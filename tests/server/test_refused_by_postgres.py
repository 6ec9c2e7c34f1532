"""A database that will not let the server in, now or later, ends the start at once; one that may is waited for."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.postgres import PostgresServer, find_binaries, start_server
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def guarded() -> Iterator[PostgresServer]:
    """A server on which the role `guarded` has the password `right`, and `locked` is let in nowhere."""
    binaries = find_binaries()
    assert binaries is not None
    server = start_server(binaries)
    hba = server.folders[1] / "pg_hba.conf"
    words = "host all guarded 127.0.0.1/32 scram-sha-256\nhost all locked 127.0.0.1/32 reject\n"
    hba.write_text(words + hba.read_text())
    server.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
    server.execute("CREATE ROLE locked LOGIN")
    server.execute("CREATE DATABASE mine OWNER guarded")
    server.execute("SELECT pg_reload_conf()")
    yield server
    server.stop()


def let_in(url: str) -> bool:
    """Return whether a connection can be opened."""
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.costly
def test_what_does_not_pass_is_said_at_once_and_once(guarded: PostgresServer, processes: ProcessStarter) -> None:
    wait_until(lambda: not let_in(guarded.url("mine").replace("postgres@", "guarded:wrong@")), message="the new rules")
    refused = {
        guarded.url("mine").replace("postgres@", "guarded:wrong@"): "password authentication failed",
        guarded.url("mine").replace("postgres@", "guarded@"): "no password supplied",
        guarded.url("mine").replace("postgres@", "locked@"): "pg_hba.conf rejects connection",
        guarded.url("mine").replace("postgres@", "nobody@"): 'role "nobody" does not exist',
        guarded.url("none"): 'database "none" does not exist',
        f"{guarded.url()}?options=-c%20nonsense%3D1": 'unrecognized configuration parameter "nonsense"',
        f"{guarded.url()}?sslmode=require": "server does not support SSL, but SSL was required",
    }
    for url, why in refused.items():
        started = processes.start("serve", "--no-auth", "--port", "0", "--database-url", url)
        assert started.wait() == 3
        said = started.output()
        assert why in said
        assert "tried again" not in said
        assert "Traceback" not in said
        assert "wrong" not in said


@pytest.mark.costly
def test_a_server_that_is_not_there_yet_is_tried_again(processes: ProcessStarter) -> None:
    started = processes.start(
        "serve", "--no-auth", "--port", "0", "--database-url", "postgresql://postgres@127.0.0.1:1/mine"
    )
    wait_until(lambda: "tried again in 0.2 s" in started.output(), message="a second try")
    started.kill()
