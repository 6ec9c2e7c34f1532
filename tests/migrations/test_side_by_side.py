"""Old and new schemas beside old and new code: what goes on, and what is refused with a sentence."""

import subprocess
from collections.abc import Iterator
from types import ModuleType

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.schema import CreateSchema

from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.schema.tables import metadata
from cronograph.jobs.store.schema.types import SchemaText
from tests.support.processes import ProcessStarter
from tests.support.schema import schema_for
from tests.support.sources import ROOT
from tests.support.waiting import wait_until
from tests.support.web import post

FIRST = ROOT / "migrations" / "versions" / "0001_initial.py"


def earlier_drafts() -> Iterator[str]:
    """The first migration as it was committed, newest first; none outside of a clone."""
    path = FIRST.relative_to(ROOT).as_posix()
    for commit in git("log", "-n", "20", "--format=%H", "--", path).split():
        yield git("show", f"{commit}:{path}")


def git(*arguments: str) -> str:
    answer = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return answer.stdout if answer.returncode == 0 else ""


def columns(url: str) -> set[str]:
    engine = sync_engine(parse_url(url))
    with engine.connect() as connection:
        schema, looks = schema_for(connection), inspect(connection)
        names = [
            f"{table}.{column['name']}"
            for table in looks.get_table_names(schema)
            for column in looks.get_columns(table, schema)
        ]
    engine.dispose()
    return set(names)


def execute(url: str, *statements: str) -> None:
    engine = sync_engine(parse_url(url))
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(SchemaText(statement))
    engine.dispose()


def make(url: str, revision: str) -> None:
    """A database with the tables that this text of a first migration makes."""
    module = ModuleType("earlier_draft")
    exec(compile(revision, "0001_initial.py", "exec"), vars(module))
    engine = sync_engine(parse_url(url))
    with engine.begin() as connection:
        schema = schema_for(connection)
        if schema == "cronograph":
            connection.execute(CreateSchema(schema))
        connection.execution_options(schema_translate_map={None: schema})
        with Operations.context(MigrationContext.configure(connection)):
            vars(module)["upgrade"]()
        connection.execution_options(schema_translate_map=None)
        connection.execute(text(f"CREATE TABLE {schema}.cronograph_version (version_num varchar(32))"))
        connection.execute(text(f"INSERT INTO {schema}.cronograph_version VALUES ('0001')"))
    engine.dispose()


@pytest.mark.costly
def test_a_database_of_the_previous_draft_is_served_only_if_it_has_all_columns(
    processes: ProcessStarter, empty_database_url: str
) -> None:
    present = FIRST.read_text()
    make(empty_database_url, next((draft for draft in earlier_drafts() if draft not in {"", present}), present))
    before = columns(empty_database_url)
    wanted = {f"{table.name}.{column.name}" for table in metadata.sorted_tables for column in table.columns}
    status, said = processes.run("migrate", "--database-url", empty_database_url)
    assert (status, "must have the tables of this version" in said) == ((3, True) if wanted - before else (0, False))
    assert columns(empty_database_url) == before


@pytest.mark.costly
def test_a_database_that_lost_a_column_is_refused_by_the_start_and_by_check(
    processes: ProcessStarter, database_url: str
) -> None:
    execute(database_url, "ALTER TABLE cronograph.execution_log DROP COLUMN message")
    words = ("--database-url", database_url, "--no-auth", "--port", "0")
    for command, expected in (("serve", 3), ("check", 2)):
        status, said = processes.run(command, *words)
        assert (status, "execution_log.message is missing" in said, "Traceback" in said) == (expected, True, False)


def newer(url: str) -> None:
    """What a newer version's migration leaves: more than this version knows."""
    execute(
        url,
        "ALTER TABLE cronograph.run ADD COLUMN of_tomorrow text",
        "CREATE TABLE cronograph.of_tomorrow (id int)",
        "UPDATE cronograph.cronograph_version SET version_num = '9042'",
    )


@pytest.mark.costly
@pytest.mark.postgres
def test_a_node_goes_on_when_a_newer_version_has_migrated_and_none_of_its_own_can_join(
    processes: ProcessStarter, postgres_url: str
) -> None:
    old = processes.serve(postgres_url)
    newer(postgres_url)

    def asked(document: str) -> str:
        return post(f"{old.url}/graphql", {"query": document}).text

    assert '"errors":[]' in asked('mutation { triggerJob(jobName: "prune_history") { errors { message } } }')
    wait_until(
        lambda: '"SUCCESS"' in asked('{ runs(filter: { jobName: { eq: "prune_history" } }) { nodes { state } } }')
    )
    refused = processes.begin_serve(postgres_url)
    assert refused.wait() == 3
    assert "migrated by a newer version of Cronograph: install that version" in " ".join(refused.output().split())
    assert old.is_ready()


def test_a_sqlite_file_in_use_is_not_migrated_by_another_process(processes: ProcessStarter, sqlite_url: str) -> None:
    old = processes.serve(sqlite_url)
    execute(sqlite_url, "UPDATE cronograph_version SET version_num = '0000'")
    before = columns(sqlite_url)
    status, said = processes.run("migrate", "--database-url", sqlite_url)
    assert (status, str(old.pid) in said) == (4, True), said
    assert (columns(sqlite_url), old.is_ready()) == (before, True)
