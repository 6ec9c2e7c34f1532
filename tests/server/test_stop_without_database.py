"""A server that starts or is told to stop while its PostgreSQL is unavailable, and says what it could not do."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import LiteralString

import psycopg
import pytest
from sqlalchemy import make_url

from tests.support.job_modules import write_example_jobs
from tests.support.postgres import PostgresServer
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import get, post

pytestmark = pytest.mark.postgres

NAP = 'mutation { triggerJob(jobName: "nap", args: { seconds: 300 }) { success } }'
OF_NAP = "SELECT state FROM cronograph.run WHERE job_name = 'nap'"  # `tick` has a run each second


@contextmanager
def away(url: str, server: PostgresServer) -> Generator[None]:
    """The database takes no connections within the block, and the ones that it had are ended."""
    name = make_url(url).database or ""
    server.execute("ALTER DATABASE {} ALLOW_CONNECTIONS false", name)
    with psycopg.connect(server.url(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
    try:
        yield
    finally:
        server.execute("ALTER DATABASE {} ALLOW_CONNECTIONS true", name)


def busy_server(processes: ProcessStarter, url: str) -> CronographProcess:
    """A server with a run that would take long."""
    node = (
        "--jobs",
        write_example_jobs(processes.folder),
        "--heartbeat",
        "0.2",
        "--lease",
        "30",
        "--drain-timeout",
        "1",
    )
    server = processes.serve(url, *node)
    assert '"success":true' in post(f"{server.url}/graphql", {"query": NAP}).text
    wait_until(lambda: rows(url, OF_NAP) == [("running",)], message="the run to begin")
    return server


def rows(url: str, statement: LiteralString) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(statement).fetchall()


def unready(server: CronographProcess) -> bool:
    return get(f"{server.url}/health/ready").status_code == 503


@pytest.mark.costly
def test_a_server_that_stops_while_its_database_is_unavailable_for_a_moment_hands_its_runs_back(
    postgres_url: str, postgres_server: PostgresServer, processes: ProcessStarter
) -> None:
    server = busy_server(processes, postgres_url)
    with away(postgres_url, postgres_server):
        wait_until(lambda: unready(server), message="the node to notice")
        server.terminate()
        wait_until(lambda: "handed back" in server.output(), message="the drain time to be up")
    assert server.wait() == 0, server.output()
    assert "Traceback" not in server.output()
    assert rows(postgres_url, OF_NAP) == [("waiting",)]
    assert rows(postgres_url, "SELECT state FROM cronograph.node") == [("stopped",)]


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_a_server_whose_database_stays_unavailable_says_what_it_could_not_write(
    postgres_url: str, postgres_server: PostgresServer, processes: ProcessStarter
) -> None:
    server = busy_server(processes, postgres_url)
    with away(postgres_url, postgres_server):
        wait_until(lambda: unready(server), message="the node to notice")
        server.terminate()
        assert server.wait() == 3, server.output()
    assert "Traceback" not in server.output()
    assert "what it ran and could not store begins again once its lease of 30 s has ended" in server.output()


@pytest.mark.costly
def test_a_server_that_starts_while_its_database_restarts_waits_for_it(
    postgres_url: str, postgres_server: PostgresServer, processes: ProcessStarter
) -> None:
    with away(postgres_url, postgres_server):
        server = processes.begin_serve(postgres_url)
        wait_until(lambda: "the database is unavailable, tried again" in server.output(), message="the server to wait")
    server.wait_ready()
    assert server.stop() == 0


@pytest.mark.costly
def test_a_server_whose_database_does_not_come_ends_with_one_sentence(
    postgres_url: str, postgres_server: PostgresServer, processes: ProcessStarter
) -> None:
    with away(postgres_url, postgres_server):
        server = processes.begin_serve(postgres_url)
        assert server.wait() == 3, server.output()
    assert "cannot be used" in server.output().splitlines()[-1]
    assert "Traceback" not in server.output()
