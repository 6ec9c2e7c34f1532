"""The doctor finds what was broken on purpose, says what repairs it, and what it says does repair it."""

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, make_url, text
from typer.testing import CliRunner

from cronograph.jobs.core.nodes import Node, NodeState
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.db.dialect import database_now
from cronograph.jobs.store.db.opening import connected
from cronograph.jobs.store.schema.tables import job_execution
from cronograph.jobs.store.statements.health import (
    SETTINGS,
    HistoryHealth,
    Holder,
    PostgresHealth,
    SqliteHealth,
    TableHealth,
    notification_delay,
    read_history,
    read_postgres,
)
from cronograph.server.cli import application
from cronograph.server.database.doctor import (
    Finding,
    Level,
    file_system,
    judge_clock,
    judge_disk,
    judge_history,
    judge_nodes,
    judge_notification,
    judge_pooler,
    judge_postgres,
    judge_schema,
    judge_sqlite,
)
from cronograph.server.database.schema import check_database
from tests.support.history import history
from tests.support.waiting import wait_until

pytestmark = pytest.mark.both_databases  # each database has its own rules

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def doctor(url: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
    """The exit status, and the findings by check."""
    done = CliRunner().invoke(application(("doctor",)), ["doctor", "--database-url", url, "--json"])
    answer = json.loads(done.output)
    assert answer["ok"] is (done.exit_code == 0)
    found: dict[str, list[dict[str, str]]] = {}
    for one in answer["findings"]:
        found.setdefault(one["check"], []).append(one)
    return done.exit_code, found


def execute(url: str, *statements: str) -> None:
    """Run statements, each by itself; the schema is left out on SQLite."""
    sqlite = url.startswith("sqlite")
    engine = create_engine(url if sqlite else parse_url(url))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in statements:
            connection.execute(text(statement.replace("cronograph.", "") if sqlite else statement))
    engine.dispose()


# Of the server of the tests: it gives up safety for speed.
EXPECTED = {"durability", "autovacuum"}


def test_a_fresh_database_is_well(database_url: str) -> None:
    status, found = doctor(database_url)
    bad = {check for check, all_ in found.items() for one in all_ if one["level"] == "problem"}
    assert bad == (set() if database_url.startswith("sqlite") else EXPECTED)
    assert status == (1 if bad else 0)
    checks = {"schema", "indexes", "nodes", "bloat", "history", "disk"}
    assert checks <= set(found)


def test_it_says_how_much_history_there_is_and_what_a_shorter_time_would_free(database_url: str) -> None:
    engine = sync_engine(parse_url(database_url))
    with engine.connect() as connection:
        now = database_now(connection)
        assert read_history(connection, now).executions == 0
        pruned, *_ = history(connection, None, *[now - timedelta(days=days) for days in (50, 30, 10, 3, 2, 0.5)])
        connection.execute(job_execution.delete().where(job_execution.c.id == pruned[1]))
        found = read_history(connection, now)
        assert (found.executions, round(found.days)) == (5, 30)
        assert found.older == {1: 0.8, 7: 0.4, 14: 0.2}
        assert found.bytes is not None
        assert found.bytes > 0
    engine.dispose()


HISTORY = HistoryHealth(20 * 10**9, 4_000_000, 30.0, {1: 0.96, 7: 0.7, 14: 0.5})


@pytest.mark.parametrize(
    ("health", "level", "advice"),
    [
        (replace(HISTORY, bytes=4 * 10**9), "ok", ""),
        (replace(HISTORY, days=0.6, older={1: 0.0, 7: 0.0, 14: 0.0}), "advice", "@job(keep=…)"),
        (HISTORY, "advice", "14 days would free about 10.0 GB, 7 days would free about 14.0 GB, 1 day would free"),
        (replace(HISTORY, bytes=None), "advice", "groups keep NAME 1d"),
    ],
)
def test_what_is_said_about_history(health: HistoryHealth, level: str, advice: str) -> None:
    finding = judge_history(health, 10**10)
    assert finding.level == level
    assert advice in finding.advice
    assert "4,000,000 executions of the last" in finding.says


def test_a_missing_index_is_named_and_its_statement_makes_it(database_url: str) -> None:
    execute(database_url, "DROP INDEX cronograph.ix_run_job")
    status, found = doctor(database_url)
    (finding,) = found["indexes"]
    assert (status, finding["says"]) == (1, "index ix_run_job of run is missing")
    execute(database_url, finding["advice"])
    assert doctor(database_url)[1]["indexes"][0]["level"] == "ok"


@pytest.mark.costly
@pytest.mark.parametrize(
    "other",
    [
        "INDEX {} ON cronograph.run (task_id) WHERE exclusive AND state IN ('running', 'scheduled')",
        "UNIQUE INDEX {} ON cronograph.run (task_id, id) WHERE exclusive AND state IN ('running', 'scheduled')",
        "UNIQUE INDEX {} ON cronograph.run (id) WHERE exclusive AND state IN ('running', 'scheduled')",
        "UNIQUE INDEX {} ON cronograph.run (task_id DESC) WHERE exclusive AND state IN ('running', 'scheduled')",
        "UNIQUE INDEX {} ON cronograph.run (task_id) WHERE exclusive AND state IN ('running')",
        "UNIQUE INDEX {} ON cronograph.run (task_id)",
    ],
)
def test_an_index_of_another_definition_is_named_by_doctor_and_check_and_made_again(
    database_url: str, other: str
) -> None:
    sqlite = database_url.startswith("sqlite")
    table = "run" if sqlite else "cronograph.run_open"
    made = other.format("uq_run_exclusive").replace("cronograph.run", table)
    execute(database_url, "DROP INDEX cronograph.uq_run_exclusive", f"CREATE {made}")
    status, found = doctor(database_url)
    (finding,) = found["indexes"]
    assert (status, "index uq_run_exclusive of run is not that of this version, but CREATE" in finding["says"]) == (
        1,
        True,
    )
    (fault,) = check_database(database_url, Registry()).faults
    assert fault.startswith("index uq_run_exclusive of table run is not that of this version, but CREATE")
    execute(database_url, *finding["advice"].split("; "))
    assert doctor(database_url)[1]["indexes"][0]["level"] == "ok"
    assert check_database(database_url, Registry()).faults == []


@pytest.mark.postgres
def test_an_index_that_was_left_half_built_is_made_again(postgres_url: str) -> None:
    execute(postgres_url, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'cronograph.ix_run_job'::regclass")
    (finding,) = doctor(postgres_url)[1]["indexes"]
    assert "is invalid" in finding["says"]
    execute(postgres_url, *finding["advice"].split("; "))
    assert doctor(postgres_url)[1]["indexes"][0]["level"] == "ok"


def test_a_missing_column_is_named(database_url: str) -> None:
    execute(database_url, "ALTER TABLE cronograph.execution_log DROP COLUMN message")
    (finding,) = doctor(database_url)[1]["schema"]
    assert (finding["level"], "execution_log.message is missing" in finding["says"]) == ("problem", True)


@pytest.mark.postgres
def test_the_figures_of_a_server_are_what_is_going_on_there(postgres_url: str) -> None:
    execute(postgres_url, "ALTER TABLE cronograph.run_open SET (autovacuum_enabled = off)")
    other = psycopg.connect(postgres_url, application_name="forgotten")
    with closing(other), connected(postgres_url) as connection:
        other.execute("SELECT pg_current_xact_id()")
        health = read_postgres(connection)
        (held,) = [one for one in health.holders if "forgotten" in one.name]
        assert (held.what, held.end) == ("session", f"SELECT pg_terminate_backend({other.info.backend_pid})")
        assert f"{other.info.backend_pid} forgotten of postgres idle in transaction" == held.name
        assert {one.name: one.autovacuum for one in health.tables}["run_open"] is False
        assert {one.name: one.autovacuum for one in health.tables}["node"] is True
        assert abs(health.skew) <= health.skew_error + 0.5
        assert health.data_directory is not None
        assert 2 <= health.connections <= health.most_connections
        execute(postgres_url, held.end)

        def forgotten() -> bool:
            # The figures of a transaction stay as they were at its first look.
            connection.rollback()
            return any("forgotten" in one.name for one in read_postgres(connection).holders)

        # To end a session is a signal to its process, which takes it when it comes to it.
        wait_until(lambda: not forgotten(), message="the forgotten session to end")


@pytest.mark.postgres
@pytest.mark.parametrize("place", ["", "ALTER DATABASE {0}", "ALTER ROLE {1}", "ALTER ROLE {1} IN DATABASE {0}"])
def test_a_setting_is_changed_where_it_was_set(postgres_url: str, place: str) -> None:
    address = make_url(postgres_url)
    role = f'"doctor of {address.database}"'
    change = f"{place.format(address.database, role)} SET synchronous_commit = "
    execute(postgres_url, f"CREATE ROLE {role} LOGIN SUPERUSER")
    try:
        if place:
            execute(postgres_url, f"{change}off")
        with connected(address.set(username=role.strip('"')).render_as_string(hide_password=False)) as connection:
            found = judge_postgres(read_postgres(connection), "cronograph")
        (advice,) = [one.advice for one in found if one.says.startswith("synchronous_commit = off")]
        assert advice == (f"{change}on" if place else "take synchronous_commit out of the command line of the server")
    finally:
        execute(postgres_url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@pytest.mark.postgres
def test_a_notification_arrives_on_a_direct_connection(postgres_url: str) -> None:
    assert notification_delay(postgres_url) is not None
    assert doctor(postgres_url)[1]["pooler"][0]["level"] == "ok"


GOOD = PostgresHealth(
    settings={
        "autovacuum": "on",
        "track_counts": "on",
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "default_transaction_read_only": "off",
        "jit": "off",
    },
    places=dict.fromkeys(SETTINGS, "ALTER SYSTEM"),
    server="18.1",
    is_standby=False,
    connections=10,
    most_connections=97,
    wraparound=0.1,
    holders=(Holder("session", "1 psql of ada active", 2.0, 5, "SELECT pg_terminate_backend(1)"),),
    tables=(TableHealth("run", 10**9, 100_000, 5_000, 1_000, autovacuum=True, was_analyzed=True),),
    bytes=10**9,
    data_directory=None,
    skew=0.1,
    skew_error=0.01,
)
RUN = GOOD.tables[0]


def holding(seconds: float, transactions: int, what: str = "session") -> PostgresHealth:
    return replace(GOOD, holders=(Holder(what, "x", seconds, transactions, "END IT"),))


def with_table(**changes: Any) -> PostgresHealth:
    return replace(GOOD, tables=(replace(RUN, **changes),))


def with_setting(name: str, value: str, place: str = "ALTER SYSTEM") -> PostgresHealth:
    return replace(GOOD, settings={**GOOD.settings, name: value}, places={**GOOD.places, name: place})


@pytest.mark.parametrize(
    ("health", "expected", "advice"),
    [
        (GOOD, {}, ""),
        (holding(59.9, 5), {}, ""),
        (holding(60, 5), {"transactions": "advice"}, "END IT"),
        (holding(600, 5), {"transactions": "problem"}, "END IT"),
        (holding(0, 1_000_000, "replication slot"), {"xmin": "advice"}, "END IT"),
        (holding(700, 20_000_000), {"transactions": "problem", "xmin": "problem"}, "END IT"),
        (replace(GOOD, holders=()), {}, ""),
        (replace(GOOD, wraparound=0.3), {"wraparound": "advice"}, "FREEZE"),
        (replace(GOOD, wraparound=0.7), {"wraparound": "problem"}, "FREEZE"),
        (with_table(dead=29_000), {}, ""),
        (with_table(live=10, dead=9_000), {}, ""),
        (with_table(dead=30_000), {"bloat": "advice"}, "VACUUM (ANALYZE) billing.run"),
        (with_table(dead=100_000), {"bloat": "problem"}, "VACUUM (ANALYZE) billing.run"),
        (with_table(autovacuum=False), {"autovacuum": "problem"}, "ALTER TABLE billing.run RESET"),
        (with_table(was_analyzed=False), {"statistics": "advice"}, "ANALYZE billing.run"),
        (with_table(changed=105_000), {"statistics": "advice"}, "ANALYZE billing.run"),
        (with_table(live=9_000, dead=0, was_analyzed=False), {}, ""),
        (with_setting("autovacuum", "off"), {"autovacuum": "problem"}, "ALTER SYSTEM"),
        (with_setting("track_counts", "off"), {"autovacuum": "problem"}, "track_counts = on"),
        (with_setting("fsync", "off"), {"durability": "problem"}, "fsync = on; SELECT pg_reload_conf()"),
        (
            with_setting("fsync", "off", "options of the URL"),
            {"durability": "problem"},
            "take fsync out of the options",
        ),
        (with_setting("full_page_writes", "off"), {"durability": "problem"}, "full_page_writes = on"),
        (with_setting("default_transaction_read_only", "on"), {"server": "problem"}, "primary"),
        (replace(GOOD, is_standby=True), {"server": "problem"}, "primary"),
        (replace(GOOD, connections=78), {"connections": "advice"}, "max_connections"),
        (replace(GOOD, connections=97), {"connections": "problem"}, "max_connections"),
    ],
)
def test_what_is_said_about_a_server(health: PostgresHealth, expected: dict[str, str], advice: str) -> None:
    found = list(judge_postgres(health, "billing"))
    assert_levels(found, expected, advice)
    assert {"server", "durability", "transactions", "xmin", "bloat", "autovacuum"} <= {one.check for one in found}


def assert_levels(found: Sequence[Finding], expected: dict[str, str], advice: str = "") -> None:
    """What is not well, and that every other finding comes without advice, every one of these with some."""
    assert {one.check: one.level.value for one in found if one.level is not Level.OK} == expected
    for one in found:
        assert bool(one.advice) is (one.level is not Level.OK), one
        assert advice in one.advice or one.level is Level.OK


@pytest.mark.parametrize(
    ("finding", "level", "says"),
    [
        (judge_clock(0.9, 0.0), "ok", "agrees"),
        (judge_clock(1.4, 0.5), "ok", "agrees"),
        (judge_clock(1.5, 0.5), "advice", "1.5 s ahead of"),
        (judge_clock(-11.0, 0.5), "problem", "11.0 s behind"),
        (judge_notification(0.002, pooled=False), "ok", "2 ms"),
        (judge_notification(0.1, pooled=False), "advice", "100 ms"),
        (judge_notification(1.0, pooled=False), "problem", "1000 ms"),
        (judge_notification(None, pooled=False), "problem", "did not arrive"),
        (judge_notification(None, pooled=True), "ok", "not used"),
        (judge_pooler([7, 7, 7], "off", pooled=False), "ok", "the server's own"),
        (judge_pooler([7, 8, 7], "off", pooled=False), "problem", "another connection"),
        (judge_pooler([7, 7, 7], "on", pooled=False), "problem", "ignored"),
        (judge_pooler([7, 8, 7], "on", pooled=True), "ok", "?pooler=transaction"),
        (judge_schema([], []), "ok", "up to date"),
        (judge_schema(["0002"], []), "advice", "0002"),
        (judge_schema([], [f"run.c{n}" for n in range(7)]), "problem", "run.c4 and 2 more"),
        (judge_disk(84, 100, "/d", 10), "ok", "(84% used)"),
        (judge_disk(84, 100, "/d", 17), "advice", "16 bytes free"),
        (judge_disk(85, 100, "/d", 1), "advice", "(85% used)"),
        (judge_disk(95, 100, "/d", 1), "problem", "(95% used)"),
    ],
)
def test_what_a_figure_means(finding: Finding, level: str, says: str) -> None:
    assert (finding.level.value, says in finding.says, bool(finding.advice)) == (level, True, level != "ok")


WHOLE = SqliteHealth((), 10**9, 10**8)


@pytest.mark.parametrize(
    ("health", "log", "kind", "expected"),
    [
        (WHOLE, 0, "ext4", {}),
        (WHOLE, 0, None, {}),
        (replace(WHOLE, faults=("row 1 missing from index ix",)), 0, "ext4", {"integrity": "problem"}),
        (WHOLE, 256_000_000, "ext4", {"log": "advice"}),
        (WHOLE, 4_000_000_000, "ext4", {"log": "problem"}),
        (replace(WHOLE, free_bytes=600_000_000), 0, "ext4", {"bloat": "advice"}),
        (SqliteHealth((), 10**7, 9 * 10**6), 0, "ext4", {}),
        (WHOLE, 0, "nfs4", {"place": "problem"}),
    ],
)
def test_what_is_said_about_a_file(health: SqliteHealth, log: int, kind: str | None, expected: dict[str, str]) -> None:
    assert_levels(list(judge_sqlite(health, Path("/x.db"), log, kind)), expected)


def node(**changes: Any) -> Node:
    later = NOW + timedelta(seconds=60)
    sound = Node(1, "n1", NodeState.ACTIVE, 20, None, None, 0, "1.0", 1, NOW, NOW, later, 0.1, (), {})
    return replace(sound, **changes)


@pytest.mark.parametrize(
    ("nodes", "levels", "says"),
    [
        ([], [], "0 live"),
        ([node()], [], "1 live"),
        ([node(), node(clock_skew=-1.5)], ["advice"], "1.5 s off"),
        ([node(clock_skew=10.0)], ["problem"], "10.0 s off"),
        ([node(state=NodeState.STALLED, stall="the finisher")], ["problem"], "the finisher"),
        ([node(heartbeat_at=NOW - timedelta(seconds=90), expires_at=NOW - timedelta(seconds=30))], ["problem"], "90 s"),
    ],
)
def test_what_is_said_about_nodes(nodes: list[Node], levels: list[str], says: str) -> None:
    found = list(judge_nodes(nodes, NOW))
    assert [one.level.value for one in found if one.level is not Level.OK] == levels
    assert says in found[0].says


def test_the_kind_of_a_file_system_is_that_of_the_nearest_mount() -> None:
    assert file_system(Path("/proc/self/status")) == "proc"
