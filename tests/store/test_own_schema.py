"""The tables live beside an application's without either noticing: in a schema or a file of their own."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Column, Connection, Engine, Integer, MetaData, Table, create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine

from cronograph.jobs import RunSpec, connect, enqueue, enqueue_many_sync, enqueue_sync
from cronograph.jobs.core.base.errors import ConfigurationError, StorageError
from cronograph.jobs.core.flows import FlowSpec, MemberSpec
from cronograph.jobs.core.run_spec import RunTarget
from cronograph.jobs.queue.flows.new_flows import enqueue_flow_sync
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.store.db.address import parse_url, schema_in, with_schema
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.schema.tables import metadata
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.server.database.schema import migrate, pending
from tests.docs.blocks import blocks_of
from tests.support.databases import sqlite_address
from tests.support.engines import running_engine
from tests.support.postgres import PostgresServer
from tests.support.sources import ROOT

OURS = sorted(table.name for table in metadata.sorted_tables)
OTHER = "jobs2"


def driver_url(url: str) -> str:
    """As an application writes it."""
    return url.replace("postgresql:", "postgresql+psycopg:")


@pytest.fixture
def crowded_url(empty_postgres_url: str) -> str:
    """A database that has tables of all our names in ``public``, and is migrated."""
    with psycopg.connect(empty_postgres_url) as conn:
        for name in OURS:
            conn.execute(f"CREATE TABLE {name} (theirs int)".encode())
    migrate(empty_postgres_url)
    return empty_postgres_url


@pytest.fixture
def theirs(crowded_url: str) -> Iterator[Engine]:
    """The engine of an application whose connections look for tables elsewhere first."""
    options = {"options": "-c search_path=nowhere,public"}
    engine = create_engine(driver_url(crowded_url), connect_args=options)
    yield engine
    engine.dispose()


def counting() -> Registry:
    """A job that does nothing."""
    jobs = Registry()

    async def count() -> int:
        return 1

    jobs.add(define("count", count))
    return jobs


def runs_in(conn: Connection, schema: str) -> int:
    """Return how many runs a schema holds."""
    count: int = conn.execute(text(f"SELECT count(*) FROM {schema}.run")).scalar_one()
    return count


@pytest.mark.costly
@pytest.mark.postgres
async def test_a_database_with_tables_of_all_our_names_is_worked_with(crowded_url: str, theirs: Engine) -> None:
    async with running_engine(crowded_url, counting()) as engine:
        run_id = await engine.enqueue("count")
        with theirs.begin() as conn:
            plain = enqueue_sync(conn, "count")
            once = enqueue_sync(conn, "count", unique_key="k")
            assert enqueue_sync(conn, "count", unique_key="k").id == once.id
            many = enqueue_many_sync(conn, [RunSpec("count"), RunSpec("count", unique_key="l")])
        for one in (run_id, plain.id, once.id, *many):
            await engine.run_until_finished(one)
    with theirs.begin() as conn:
        assert [conn.execute(text(f"SELECT count(*) FROM public.{name}")).scalar_one() for name in OURS] == [0] * len(
            OURS
        )


@pytest.mark.postgres
async def test_a_transaction_of_the_application_keeps_its_own_options(crowded_url: str) -> None:
    """Even a map of schemas that has our name in it is what it was, during and after."""
    own = {"cronograph": "public", None: "public"}
    engine = create_async_engine(driver_url(crowded_url), execution_options={"schema_translate_map": own})
    async with engine.begin() as conn:
        await enqueue(conn, "count")
        assert await conn.run_sync(lambda inner: inner.get_execution_options()["schema_translate_map"]) == own
        assert await conn.run_sync(runs_in, "cronograph") == 1
        await conn.rollback()
    await engine.dispose()


def printed(beginning: str) -> str:
    """The code block of operations.md that begins so."""
    (text,) = (block.text for block in blocks_of(ROOT / "docs" / "operations.md") if block.text.startswith(beginning))
    return text


@pytest.mark.costly
@pytest.mark.postgres
@pytest.mark.parametrize("every_schema", [False, True])
def test_an_applications_alembic_proposes_nothing_about_our_tables(empty_postgres_url: str, every_schema: bool) -> None:
    mine = MetaData()
    Table("purchase", mine, Column("id", Integer, primary_key=True))
    engine = create_engine(driver_url(empty_postgres_url))
    mine.create_all(engine)
    migrate(empty_postgres_url)

    documented: dict[str, Any] = {}
    exec(printed("def include_name"), documented)
    options = {"include_schemas": True, "include_name": documented["include_name"]} if every_schema else {}
    with engine.connect() as conn:
        context = MigrationContext.configure(conn, opts={"compare_type": True, **options})
        assert compare_metadata(context, mine) == []
    engine.dispose()


@pytest.mark.costly
@pytest.mark.postgres
async def test_two_installations_in_one_database_do_not_meet(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_url = with_schema(postgres_url, OTHER)
    migrate(other_url)
    monkeypatch.setenv("CRONOGRAPH_DATABASE_SCHEMA", OTHER)
    engine = create_engine(driver_url(postgres_url))
    async with running_engine(postgres_url, counting()) as one, running_engine(other_url, counting()) as other:
        with engine.begin() as conn:
            run = enqueue_sync(conn, "count")
            ids = enqueue_many_sync(conn, [RunSpec("count")] * 3)
        for run_id in (run.id, *ids):
            assert (await other.run_until_finished(run_id)).state == "success"
        assert (await one.finish("count")).run.id == 1
    with engine.begin() as conn:
        assert (runs_in(conn, "cronograph"), runs_in(conn, OTHER)) == (1, 4)
    engine.dispose()


@pytest.mark.postgres
def test_each_installation_has_a_channel_of_its_own(postgres_url: str) -> None:
    other_url = with_schema(postgres_url, OTHER)
    migrate(other_url)
    with psycopg.connect(postgres_url, autocommit=True) as listener:
        listener.execute("LISTEN cronograph")
        listener.execute(f"LISTEN {OTHER}".encode())
        with connect(other_url) as queue:
            queue.put(RunSpec("count"))
            queue.put(RunSpec("count", unique_key="k"))
        listener.execute("NOTIFY cronograph, 'the end'")
        heard = [(one.channel, one.payload) for one in listener.notifies(stop_after=3)]
    assert [channel for channel, _ in heard[:2]] == [OTHER, OTHER]
    assert heard[2] == ("cronograph", "the end")


@pytest.mark.postgres
def test_a_connection_says_in_which_schema_sessions_enqueue(postgres_url: str) -> None:
    other_url = with_schema(postgres_url, OTHER)
    migrate(other_url)
    engine = create_engine(driver_url(postgres_url))
    with connect(other_url) as queue, engine.connect() as conn:
        run = enqueue_sync(conn, "count")
        conn.commit()
        assert queue.find(RunTarget(run.id)) is not None
        assert runs_in(conn, OTHER) == 1
    engine.dispose()


def test_without_tables_one_is_asked_to_migrate(empty_database_url: str) -> None:
    is_file = empty_database_url.startswith("sqlite")
    none = "got none there" if is_file else "got none in schema 'cronograph'"
    engine = create_engine(driver_url(empty_database_url))
    told = "run `cronograph migrate`"
    with engine.connect() as conn:
        for put in (lambda: enqueue_sync(conn, "count"), lambda: enqueue_many_sync(conn, [RunSpec("count")])):
            with pytest.raises(StorageError, match=told):
                put()
            conn.rollback()
    engine.dispose()
    with (
        connect(empty_database_url) as queue,
        pytest.raises(StorageError, match=none),
    ):
        queue.put(RunSpec("count"))


def test_tables_of_our_names_in_a_file_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as conn:
        conn.execute("CREATE TABLE job (id)")
        conn.execute("CREATE TABLE session (id)")
        conn.execute("CREATE TABLE purchase (id)")
    conn.close()
    for look in (migrate, pending):
        with pytest.raises(StorageError, match=r"got job, session, which it has not made; take another file"):
            look(sqlite_address(path))


@pytest.mark.costly
@pytest.mark.postgres
def test_tables_of_our_names_in_the_chosen_schema_are_refused_by_name(crowded_url: str) -> None:
    with pytest.raises(StorageError, match=r"schema 'public': .* which it has not made; take another schema"):
        migrate(with_schema(crowded_url, "public"))


def test_a_folder_that_cannot_be_written_is_named() -> None:
    with pytest.raises(StorageError, match=r"'/proc/x.db': must be in a folder that can be written"):
        pending("sqlite:////proc/x.db")


@pytest.mark.costly
@pytest.mark.postgres
def test_an_account_that_may_make_no_schema_is_shown_what_an_administrator_has_to_run(
    postgres_server: PostgresServer, empty_postgres_url: str
) -> None:
    role = f"poor_{empty_postgres_url.rpartition('/')[2]}"
    postgres_server.execute("CREATE ROLE {} LOGIN", role)
    poor = empty_postgres_url.replace("postgres@", f"{role}@")
    try:
        with psycopg.connect(empty_postgres_url, autocommit=True) as admin:
            for look in (pending, migrate):
                with pytest.raises(StorageError, match=f"run CREATE SCHEMA cronograph AUTHORIZATION {role}"):
                    look(poor)
            admin.execute("CREATE SCHEMA cronograph")
            with pytest.raises(StorageError, match=f"run GRANT USAGE, CREATE ON SCHEMA cronograph TO {role}"):
                migrate(poor)
            admin.execute(f"GRANT USAGE, CREATE ON SCHEMA cronograph TO {role}".encode())
            assert migrate(poor) == ["0001"]
            admin.execute(f"DROP OWNED BY {role}".encode())
    finally:
        postgres_server.execute("DROP ROLE {}", role)


@pytest.mark.postgres
def test_the_rights_in_the_documents_suffice_to_enqueue(postgres_server: PostgresServer, postgres_url: str) -> None:
    role = f"shop_{postgres_url.rpartition('/')[2]}"
    grants = printed("GRANT")
    postgres_server.execute("CREATE ROLE {} LOGIN", role)
    try:
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(grants.replace("shop", role).encode())
            engine = create_engine(driver_url(postgres_url.replace("postgres@", f"{role}@")))
            with engine.begin() as conn:
                enqueue_sync(conn, "count")
                enqueue_sync(conn, "count", unique_key="k")
                enqueue_many_sync(conn, [RunSpec("count"), RunSpec("count", unique_key="l")])
                members = MemberSpec("a", RunSpec("count")), MemberSpec("b", RunSpec("count"), ("a",))
                enqueue_flow_sync(conn, FlowSpec("two", members, unique_key="m", labels={"customer": "42"}))
            engine.dispose()
            admin.execute(f"DROP OWNED BY {role}".encode())
    finally:
        postgres_server.execute("DROP ROLE {}", role)


@pytest.mark.parametrize("name", ["Jobs", "pg_jobs", "1jobs", "select", "a-b", "", "x" * 64, "a.b", 'a"b'])
def test_a_schema_has_a_name_that_needs_no_quotes(name: str) -> None:
    with pytest.raises(ConfigurationError, match="schema must be a name of 1 to 63 small letters"):
        with_schema("postgresql://localhost/app", name)


def test_the_address_and_the_setting_agree() -> None:
    assert with_schema("sqlite:///x.db", OTHER) == "sqlite:///x.db"
    url = with_schema("postgresql://ann:secret@localhost/app?pooler=transaction", OTHER)
    assert schema_in(parse_url(url)) == OTHER
    assert with_schema(url, OTHER) == url
    assert "schema" not in Database(url).libpq_url()
    with pytest.raises(ConfigurationError, match="must name the schema 'third' or none, got 'jobs2'"):
        with_schema(url, "third")
    for given in ("schema=jobs", "mode=ro", "uri=true&mode=ro", "pooler=transaction", "/y.db"):
        with pytest.raises(ConfigurationError, match="a SQLite file takes no parameters"):
            parse_url(f"sqlite:///x.db?{given}")
    assert parse_url("sqlite:///what%3F.db").database == "what?.db"


@pytest.mark.costly
@pytest.mark.postgres
def test_only_the_word_itself_stands_for_the_schema(postgres_url: str) -> None:
    url = with_schema(postgres_url, OTHER)
    migrate(url)
    database = Database(url)
    statement = SchemaText("SELECT 'cronograph_x', count(*) FROM cronograph.run WHERE job_name <> :name")
    found = database.write_sync(lambda tx: tuple(tx.conn.execute(statement, {"name": "x"}).one()))
    assert found == ("cronograph_x", 0)
    database.close_sync()
