"""The test PostgreSQL: isolated databases, UTC, and no root."""

import psutil
import psycopg
import pytest

from tests.support.postgres import PostgresServer


def test_each_database_is_empty_and_gone_afterwards(postgres_server: PostgresServer) -> None:
    name = postgres_server.create_database()
    with psycopg.connect(postgres_server.url(name)) as connection:
        connection.execute("CREATE TABLE only_here (id int)")
    other = postgres_server.create_database()
    with psycopg.connect(postgres_server.url(other)) as connection:
        assert connection.execute("SELECT to_regclass('only_here')").fetchone() == (None,)
    postgres_server.drop_database(name)
    postgres_server.drop_database(other)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(postgres_server.url(name))


def test_a_template_is_prepared_once_and_copied_often(postgres_server: PostgresServer) -> None:
    prepared: list[str] = []

    def prepare(url: str) -> None:
        prepared.append(url)
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE made_by_template (id int)")

    names = [postgres_server.create_database(postgres_server.template("probe", prepare)) for _ in range(2)]
    assert len(prepared) == 1
    for name in names:
        with psycopg.connect(postgres_server.url(name)) as connection:
            assert connection.execute("SELECT count(*) FROM made_by_template").fetchone() == (0,)
        postgres_server.drop_database(name)


def test_the_server_runs_in_utc_and_not_as_root(empty_postgres_url: str, postgres_server: PostgresServer) -> None:
    with psycopg.connect(empty_postgres_url) as connection:
        assert connection.execute("SHOW timezone").fetchone() == ("UTC",)
    assert psutil.Process(postgres_server.process.pid).uids().effective != 0
