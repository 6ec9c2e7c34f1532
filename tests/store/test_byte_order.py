"""Names are sorted byte by byte, by the rules, by the lists, and by every database, with any collation."""

from collections.abc import Iterator

import pytest
from sqlalchemy import String, Table, select, text

from cronograph.jobs.core.model import Priority
from cronograph.jobs.queue.base.shapes import Candidate
from cronograph.jobs.queue.claims.fairness import FairnessState, take
from cronograph.jobs.store.schema.tables import metadata, run
from cronograph.jobs.store.schema.types import Name
from tests.support.postgres import PostgresServer
from tests.support.schema import migrate
from tests.support.storage import Stored

NAMES = ("a", "B", "ä", "a-b", "a b", "A", "ab", "b", "Z", "_a", "10", "9", "é", "日")


@pytest.fixture
def linguistic(postgres_server: PostgresServer) -> Iterator[Stored]:
    """A database that sorts like a dictionary, if the server can: one that was built without ICU has bytes alone."""
    plain = Stored(postgres_server.url())
    # Before version 15, no database sorts by ICU.
    recent = "current_setting('server_version_num')::int >= 150000"
    known = f"SELECT 1 FROM pg_collation WHERE collname = 'en-US-x-icu' AND {recent}"
    knows_icu = plain.do(lambda tx: tx.conn.execute(text(known)).first())
    plain.close()
    name = "dictionary"
    if knows_icu:
        postgres_server.execute(
            "CREATE DATABASE {} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'", name
        )
    else:
        postgres_server.execute("CREATE DATABASE {} TEMPLATE template0", name)
    migrate(postgres_server.url(name))
    stored = Stored(postgres_server.url(name))
    yield stored
    stored.close()
    postgres_server.drop_database(name)


def served(stored: Stored, *, slots: int) -> list[str]:
    """The groups of the runs in the order in which they begin, two in each group."""
    node = stored.node(jobs=("work", "play"))
    for group in NAMES * 2:
        stored.enqueue(group=group)
    groups: list[str] = []
    while claimed := node.take(slots).started:
        groups += [one.run.group for one in claimed]
        for one in claimed:
            node.end(one)
    return groups


def by_the_rule() -> list[str]:
    """The same by the rule alone."""
    waiting = [Candidate(number, group, Priority.HIGH) for number, group in enumerate(NAMES * 2)]
    return [one.group for one in take(FairnessState(), waiting, len(waiting))]


@pytest.mark.costly
@pytest.mark.postgres
@pytest.mark.parametrize("slots", [1, 3, 50])
def test_groups_take_turns_in_the_order_of_bytes_whatever_the_collation(linguistic: Stored, slots: int) -> None:
    assert served(linguistic, slots=slots) == by_the_rule() == sorted(NAMES) * 2


@pytest.mark.costly
@pytest.mark.postgres
def test_so_they_do_beside_runs_of_jobs_that_the_node_does_not_know(linguistic: Stored) -> None:
    linguistic.node("other", jobs=("unknown",))
    for group in NAMES:
        linguistic.enqueue(job_name="unknown", group=group)
    assert served(linguistic, slots=3) == sorted(NAMES) * 2


@pytest.mark.costly
@pytest.mark.parametrize("slots", [1, 3, 50])
def test_so_they_do_on_both_databases(stored: Stored, slots: int) -> None:
    assert served(stored, slots=slots) == sorted(NAMES) * 2


@pytest.mark.postgres
def test_so_the_lists_are_sorted(linguistic: Stored) -> None:
    linguistic.node()
    for group in NAMES:
        linguistic.enqueue(group=group)
    ordered = select(run.c.group_name).order_by(run.c.group_name)
    assert linguistic.do(lambda tx: list(tx.conn.execute(ordered).scalars())) == sorted(NAMES)


@pytest.mark.parametrize("table", metadata.sorted_tables, ids=lambda table: table.name)
def test_every_column_of_names_is_declared_as_such(table: Table) -> None:

    for column in table.columns:
        if (table.name, column.name) == ("run_signal", "name"):
            continue  # with its key it is longer than a name, and signals are sorted by their ids alone
        is_name = column.name in {"name", "owner", "node", "submitter"} or column.name.endswith("_name")
        if is_name and isinstance(column.type, String):
            assert column.type is Name, column
