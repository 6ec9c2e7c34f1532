"""With any settings of the server's own, every connection of ours has those that our statements rely on."""

from datetime import UTC, datetime

import psycopg
import pytest
from sqlalchemy import text

from cronograph.jobs import job
from cronograph.jobs.connection import connect
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.address import parse_url
from cronograph.jobs.store.db.autocommit import PLANS, AutocommitConnection, SyncAutocommitConnection
from cronograph.jobs.store.db.database import Connection, Database
from cronograph.server.database.schema import migrate
from tests.support.job_modules import write_example_jobs
from tests.support.postgres import PostgresServer
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres

HOSTILE = {
    "jit": "on",
    "jit_above_cost": "0",
    "plan_cache_mode": "force_custom_plan",
    "array_nulls": "off",
    "bytea_output": "escape",
    "client_encoding": "LATIN1",
    "datestyle": "SQL, DMY",
    "default_transaction_isolation": "serializable",
    "exit_on_error": "on",
    "extra_float_digits": "-15",
    "idle_session_timeout": "300",
    "intervalstyle": "sql_standard",
    "search_path": "hostile",
    "standard_conforming_strings": "off",
    "timezone": "Asia/Kathmandu",
}
"""Settings of a server that would make our statements slow, or mean something else."""
OURS = {
    "jit": "off",
    "array_nulls": "on",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "datestyle": "ISO, MDY",
    "exit_on_error": "off",
    "extra_float_digits": "1",
    "idle_session_timeout": "0",
    "intervalstyle": "postgres",
    "search_path": "pg_catalog",
    "standard_conforming_strings": "on",
    "timezone": "UTC",
}
NAMES = ", ".join(f"'{name}'" for name in OURS)
ASKED = (
    f"SELECT (SELECT jsonb_object_agg(name, current_setting(name)) FROM unnest(ARRAY[{NAMES}]) AS name) AS settings, "
    "current_setting('plan_cache_mode') AS plans"
)
NOTED = f"""
CREATE TABLE noted (name text, settings jsonb, plans text);
GRANT INSERT ON noted TO public;
CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.noted SELECT current_setting('application_name'), settings, plans FROM ({ASKED}) AS asked;
END $$;
CREATE EVENT TRIGGER noting ON login EXECUTE FUNCTION note();
ALTER EVENT TRIGGER noting ENABLE ALWAYS
"""
SEVENTEEN = 170000


def make_hostile(url: str) -> None:
    """Let new connections to this database have settings that are bad for us, unless they say otherwise."""
    with psycopg.connect(url, autocommit=True) as conn:
        for name, value in HOSTILE.items():
            conn.execute(f"ALTER DATABASE {conn.info.dbname} SET {name} = '{value}'".encode())


@pytest.mark.parametrize("pooler", ["", "?pooler=transaction"])
async def test_no_transaction_is_ended_for_having_many_parts(postgres_url: str, pooler: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        if conn.info.server_version < SEVENTEEN:
            pytest.skip("PostgreSQL bounds transactions from version 17 on")
        conn.execute(f"ALTER DATABASE {conn.info.dbname} SET transaction_timeout = '1min'".encode())
    address = postgres_url + pooler
    database, line = Database(address), AutocommitConnection(parse_url(address))
    asked = "SELECT current_setting('transaction_timeout') AS timeout"
    assert await database.read(lambda conn: conn.execute(text(asked)).scalar_one()) == "0"
    assert await database.write(lambda tx: tx.conn.execute(text(asked)).scalar_one()) == "0"
    assert await line.execute(asked, {}) == [("0",)]
    if not pooler:
        own = SyncAutocommitConnection(parse_url(address))
        assert own.execute(asked, {}) == [("0",)]
        own.close()
    await line.close()
    await database.close()


@pytest.mark.costly
def test_no_connection_of_a_server_or_of_a_program_that_enqueues_has_settings_of_the_server(
    postgres_url: str, processes: ProcessStarter
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        if conn.info.server_version < SEVENTEEN:
            pytest.skip("PostgreSQL tells of logins from version 17 on")
        make_hostile(postgres_url)
        conn.execute(NOTED.encode())
        server = processes.serve(postgres_url, "--jobs", write_example_jobs(processes.folder))
        registry = Registry()

        @job("nap", registry=registry)
        async def nap(seconds: float) -> None: ...

        with connect(postgres_url, registry=registry):
            nap.enqueue_sync(seconds=0)

        def has_run() -> bool:
            return conn.execute("SELECT 1 FROM cronograph.run WHERE state = 'success'").fetchone() is not None

        wait_until(has_run, message="the run to end")
        server.stop()
        seen = conn.execute("SELECT name, settings, plans FROM noted").fetchall()
        conn.execute("DROP EVENT TRIGGER noting")
    # Pools of engine and API, the heartbeat's, two lines, listener and sender, and the program's.
    assert len(seen) >= 8
    assert {name for name, *_ in seen} == {"cronograph"}
    assert all(settings == OURS for _, settings, _ in seen), seen
    assert {plans for *_, plans in seen} == {"auto", PLANS["plan_cache_mode"]}


GERMAN = "?options=-c%20datestyle%3DGerman%20-c%20timezone%3DAsia/Tokyo%20-c%20bytea_output%3Descape"


@pytest.mark.parametrize("options", ["", "?pooler=transaction", GERMAN])
async def test_no_transaction_has_settings_of_the_server_or_forms_of_the_address(
    postgres_url: str, options: str
) -> None:
    make_hostile(postgres_url)
    address = postgres_url + options
    database, connection = Database(address), AutocommitConnection(parse_url(address))
    asked = f"{ASKED}, current_setting('transaction_isolation') AS isolation"

    def found(conn: Connection) -> tuple[object, ...]:
        return tuple(conn.execute(text(asked)).one())

    assert await database.read(found) == (OURS, "auto", "repeatable read")
    assert await database.write(lambda tx: found(tx.conn)) == (OURS, "auto", "read committed")
    assert await connection.execute(asked, {}) == [(OURS, "force_generic_plan", "read committed")]
    await connection.close()
    await database.close()


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_with_another_encoding_is_refused_in_one_line(
    postgres_server: PostgresServer, processes: ProcessStarter, encoding: str
) -> None:
    name = f"in_{encoding.lower()}"
    options = f"ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    with psycopg.connect(postgres_server.url(), autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} {options}".encode())
    try:
        for command in ("migrate", "check", "doctor"):
            status, said = processes.run(command, "--database-url", postgres_server.url(name))
            assert status != 0
            assert f"must have the encoding UTF8, got {encoding}" in said
            assert "Traceback" not in said
    finally:
        postgres_server.drop_database(name)


async def test_texts_are_what_they_were_whatever_the_server_has_set(
    empty_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_hostile(empty_postgres_url)
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    assert migrate(empty_postgres_url) != []
    database = Database(empty_postgres_url)
    asked = text("SELECT :told, CAST('2026-11-03T04:05:06.789Z' AS timestamptz), CAST(:part AS float8)")
    row = await database.read(lambda conn: conn.execute(asked, {"told": "日本 🎉 \\ '", "part": 0.1 + 0.2}).one())
    assert tuple(row) == ("日本 🎉 \\ '", datetime(2026, 11, 3, 4, 5, 6, 789_000, tzinfo=UTC), 0.1 + 0.2)
    await database.close()
