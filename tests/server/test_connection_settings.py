"""With any settings of the server's own, every connection of ours compiles nothing and plans as we expect it to."""

import psycopg
import pytest
from sqlalchemy import text

from cronograph.jobs import job
from cronograph.jobs.connection import connect
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.autocommit import PLANS, AutocommitConnection
from cronograph.jobs.store.db.base.address import parse_url
from cronograph.jobs.store.db.database import Connection, Database
from tests.support.job_modules import write_example_jobs
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres

HOSTILE = {"jit": "on", "jit_above_cost": "0", "plan_cache_mode": "force_custom_plan"}
"""Settings of a server that would make our statements slow."""
NOTED = """
CREATE TABLE noted (pid int, name text, jit text, plans text);
GRANT INSERT ON noted TO public;
CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.noted VALUES (
        pg_backend_pid(), current_setting('application_name'), current_setting('jit'),
        current_setting('plan_cache_mode'));
END $$;
CREATE EVENT TRIGGER noting ON login EXECUTE FUNCTION note();
ALTER EVENT TRIGGER noting ENABLE ALWAYS
"""
HAS_LOGIN_TRIGGERS = 170000
EXPECTED = {("off", "auto"), ("off", PLANS["plan_cache_mode"])}


def make_hostile(url: str) -> None:
    """Let new connections to this database have settings that are bad for us, unless they say otherwise."""
    with psycopg.connect(url, autocommit=True) as conn:
        for name, value in HOSTILE.items():
            conn.execute(f"ALTER DATABASE {conn.info.dbname} SET {name} = '{value}'".encode())


def test_no_connection_of_a_server_or_of_a_program_that_enqueues_has_jit(
    postgres_url: str, processes: ProcessStarter
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        if conn.info.server_version < HAS_LOGIN_TRIGGERS:
            pytest.skip("PostgreSQL tells of logins from version 17 on")
        make_hostile(postgres_url)
        conn.execute(NOTED)
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
        seen = conn.execute("SELECT name, jit, plans FROM noted").fetchall()
        conn.execute("DROP EVENT TRIGGER noting")
    # Pools of engine and API, the heartbeat's, two lines, listener and sender, and the program's.
    assert len(seen) >= 8
    assert {name for name, *_ in seen} == {"cronograph"}
    assert {(jit, plans) for _, jit, plans in seen} == EXPECTED


async def test_behind_a_pooler_no_transaction_has_jit(postgres_url: str) -> None:
    make_hostile(postgres_url)
    behind = f"{postgres_url}?pooler=transaction"
    database, connection = Database(behind), AutocommitConnection(parse_url(behind))
    asked = "SELECT current_setting('jit') AS jit, current_setting('plan_cache_mode') AS plans"

    def settings(conn: Connection) -> tuple[str, str]:
        return tuple(conn.execute(text(asked)).one())

    assert await database.read(settings) == ("off", "auto")
    assert await database.write(lambda tx: settings(tx.conn)) == ("off", "auto")
    assert await connection.execute(asked, {}) == [("off", "force_generic_plan")]
    await connection.close()
    await database.close()
