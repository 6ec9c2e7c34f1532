"""What the migrations make is what the code works with."""

import difflib

import pytest
from sqlalchemy import Connection, select, text

from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.schema.tables import event_publisher, metadata
from cronograph.jobs.store.statements import events
from cronograph.migrations import upgrade as migrations
from tests.migrations.catalog import catalog
from tests.migrations.draft import difference
from tests.support.schema import schema_for


def catalogs(url: str) -> tuple[list[str], list[str]]:
    """The schema that the migrations make, and the one of the tables in the code, made one after the other."""
    engine = sync_engine(parse_url(url))
    with engine.connect() as connection:
        migrations.upgrade(connection, schema_for(connection))
        migrated = read(connection)
        metadata.drop_all(connection, checkfirst=False)
        metadata.create_all(connection, checkfirst=False)
        in_code = read(connection)
    engine.dispose()
    return migrated, in_code


def read(connection: Connection) -> list[str]:
    lines = catalog(connection)
    connection.commit()
    return lines


def test_migrated_and_declared_schema_are_the_same(empty_database_url: str) -> None:
    migrated, in_code = catalogs(empty_database_url)
    different = "\n".join(
        difflib.unified_diff(migrated, in_code, "migrated", "jobs/store/schema/tables.py", n=0, lineterm="")
    )
    assert different == "", "python -m tests.migrations.draft --write, or write a revision:\n" + different


def test_the_first_revision_is_what_the_tables_ask_for_until_the_first_release() -> None:
    found = difference()
    assert found == "", f"python -m tests.migrations.draft --write brings this up to date:\n{found}"


def test_the_comparison_sees_what_it_must(empty_postgres_url: str) -> None:
    engine = sync_engine(parse_url(empty_postgres_url))
    with engine.begin() as connection:
        migrations.upgrade(connection, schema_for(connection))
        before = catalog(connection)
        for statement in (
            "ALTER TABLE cronograph.run_open RESET (fillfactor)",
            "ALTER TABLE cronograph.run_done DROP CONSTRAINT ck_run_trigger",
            "ALTER TABLE cronograph.node ALTER COLUMN name DROP NOT NULL",
            "ALTER TABLE cronograph.job ALTER COLUMN isolation TYPE varchar(9)",
            "DROP INDEX cronograph.ix_run_stuck",
        ):
            connection.execute(text(statement))
        changed = {line.split(" ", 2)[1] for line in set(before) ^ set(catalog(connection))}
    engine.dispose()
    checks = {f"cronograph.{table}.ck_run_trigger" for table in ("run_done", "run_done_1", "run_done_2")}
    assert changed == {"run_open", *checks, "node.2", "job.4", "CREATE"}  # CREATE INDEX


def test_hot_tables_leave_room_and_are_vacuumed_early_on_postgresql(postgres_url: str) -> None:
    engine = sync_engine(parse_url(postgres_url))
    with engine.connect() as connection:
        tables = [line for line in catalog(connection) if line.startswith("table ")]
    engine.dispose()
    settings = (
        "autovacuum_analyze_scale_factor=0.05, autovacuum_vacuum_cost_delay=0, "
        "autovacuum_vacuum_scale_factor=0.02, fillfactor=70"
    )
    assert f"table run_open FOR VALUES IN (true) WITH {settings}" in tables
    assert f"table job_execution_open FOR VALUES IN (true) WITH {settings}" in tables
    assert f"table periodic_task WITH {settings}" in tables
    for history in ("run_done", "job_execution_done"):
        assert f"table {history} BY RANGE (id) FOR VALUES IN (false)" in tables
        assert f"table {history}_1 FOR VALUES FROM (MINVALUE) TO ('10000000')" in tables
        assert f"table {history}_2 FOR VALUES FROM ('10000000') TO (MAXVALUE)" in tables


def test_the_publisher_of_events_starts_at_nought(database_url: str) -> None:
    engine = sync_engine(parse_url(database_url))
    with engine.begin() as connection:
        assert [tuple(row) for row in connection.execute(select(event_publisher))] == [(1, 0)]
        assert events.publish(connection) == 0
    engine.dispose()


@pytest.mark.parametrize("table", sorted(metadata.tables))
def test_every_table_exists_after_a_migration(sqlite_url: str, table: str) -> None:
    engine = sync_engine(parse_url(sqlite_url))
    with engine.connect() as connection:
        connection.execute(metadata.tables[table].select()).all()
    engine.dispose()
