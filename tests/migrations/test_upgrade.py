"""A database comes to the present schema exactly once, and never backwards."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.schema import CreateSchema

from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.migrations.revision import is_newest
from cronograph.migrations.upgrade import SchemaTooNewError, check, current, head, upgrade
from tests.support.schema import schema_for

NODES = 6


def run_upgrade(url: str) -> list[str]:
    engine = sync_engine(parse_url(url))
    with engine.connect() as connection:
        applied = upgrade(connection, schema_for(connection))
    engine.dispose()
    return applied


def connect_once(url: str) -> None:
    engine = sync_engine(parse_url(url))
    engine.connect().close()
    engine.dispose()


def set_revision(url: str, revision: str) -> None:
    engine = sync_engine(parse_url(url))
    with engine.begin() as connection:
        connection.execute(
            SchemaText("UPDATE cronograph.cronograph_version SET version_num = :revision"), {"revision": revision}
        )
    engine.dispose()


def test_an_empty_database_is_brought_to_the_newest_revision(empty_database_url: str) -> None:
    engine = sync_engine(parse_url(empty_database_url))
    with engine.connect() as connection:
        assert current(connection, schema_for(connection)) is None
        pending = check(connection, schema_for(connection))
        assert pending[-1] == head()
        assert upgrade(connection, schema_for(connection)) == pending
        assert current(connection, schema_for(connection)) == head()
        assert check(connection, schema_for(connection)) == []
        assert upgrade(connection, schema_for(connection)) == []
    engine.dispose()


def test_a_look_without_alembic_distinguishes_the_newest_revision_from_any_other(empty_database_url: str) -> None:
    engine = sync_engine(parse_url(empty_database_url))

    def newest() -> bool:
        with engine.connect() as connection:
            return is_newest(connection, schema_for(connection))

    assert not newest()
    run_upgrade(empty_database_url)
    assert newest()
    set_revision(empty_database_url, "9999")
    assert not newest()
    engine.dispose()


def test_looking_leaves_no_transaction_open_and_changes_nothing(empty_database_url: str) -> None:
    engine = sync_engine(parse_url(empty_database_url))
    with engine.connect() as connection:
        check(connection, schema_for(connection))
        current(connection, schema_for(connection))
        assert not connection.in_transaction()
        assert not {"cronograph", "run"}.intersection(
            inspect(engine).get_schema_names() + inspect(engine).get_table_names()
        )
    engine.dispose()


@pytest.mark.costly
def test_nodes_that_start_at_once_migrate_exactly_once(empty_database_url: str) -> None:
    # Switching a new file to WAL is a race of its own that SQLite loses without waiting; this test is about migrating.
    connect_once(empty_database_url)
    together = Barrier(NODES)

    def start(_node: int) -> list[str]:
        together.wait()
        return run_upgrade(empty_database_url)

    with ThreadPoolExecutor(NODES) as pool:
        applied = list(pool.map(start, range(NODES)))
    assert sorted(applied) == [*([[]] * (NODES - 1)), ["0001"]]


def test_a_newer_schema_is_refused_and_named(database_url: str) -> None:
    set_revision(database_url, "9042")
    engine = sync_engine(parse_url(database_url))
    with engine.connect() as connection:
        for refused in (check, upgrade):
            with pytest.raises(
                SchemaTooNewError, match=r"at most revision '0001', got '9042'.*newer version"
            ) as caught:
                refused(connection, schema_for(connection))
            assert (caught.value.found, caught.value.newest) == ("9042", head())
        assert current(connection, schema_for(connection)) == "9042"
    engine.dispose()


def test_a_migration_that_fails_leaves_nothing_behind(empty_database_url: str) -> None:
    engine = sync_engine(parse_url(empty_database_url))
    with engine.begin() as connection:
        schema = schema_for(connection)
        if schema == "cronograph":
            connection.execute(CreateSchema(schema))
        connection.execute(SchemaText("CREATE TABLE cronograph.webauthn_challenge (id int)"))
    with engine.connect() as connection, pytest.raises(Exception, match=r"webauthn_challenge.*already exists"):
        upgrade(connection, schema_for(connection))
    assert inspect(engine).get_table_names(schema) == ["webauthn_challenge"]
    engine.dispose()


def test_the_transaction_of_the_caller_is_used_and_left_to_him(empty_database_url: str) -> None:
    engine = sync_engine(parse_url(empty_database_url))
    with engine.connect() as connection:
        transaction = connection.begin()
        assert upgrade(connection, schema_for(connection)) == ["0001"]
        transaction.rollback()
        assert current(connection, schema_for(connection)) is None
    engine.dispose()


def test_an_application_with_alembic_tables_of_its_own_is_left_alone(empty_database_url: str) -> None:
    engine = sync_engine(parse_url(empty_database_url))
    theirs = "main.alembic_version" if engine.dialect.name == "sqlite" else "public.alembic_version"
    with engine.begin() as connection:
        connection.execute(text(f"CREATE TABLE {theirs} (version_num varchar(32))"))
        connection.execute(text(f"INSERT INTO {theirs} VALUES ('theirs')"))
    assert run_upgrade(empty_database_url) == ["0001"]
    with engine.connect() as connection:
        assert connection.execute(text(f"SELECT version_num FROM {theirs}")).scalars().all() == ["theirs"]
    engine.dispose()


def test_an_engine_without_our_settings_is_locked_and_rolled_back_as_well(tmp_path: Path) -> None:
    file = tmp_path / "plain.db"
    engine = create_engine(f"sqlite:///{file}")
    with engine.connect() as connection:
        with connection.begin() as transaction:
            upgrade(connection, schema_for(connection))
            with sqlite3.connect(file, timeout=0) as other, pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            other.close()
            transaction.rollback()
        assert current(connection, schema_for(connection)) is None
    engine.dispose()
