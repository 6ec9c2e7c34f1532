"""``/metrics`` of a real server: what it tells, and to whom."""

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from cronograph.jobs.accounts.actions.accounts import add_account
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.db.database import Database
from tests.server.auth.serving import hashed
from tests.support.ports import free_port
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import get, open_client, post

MONITORING = Path(__file__).parents[3] / "docs" / "monitoring"
NAME = re.compile(r"\b(?:cronograph|process|python)_[a-z0-9_]+")


COUNTED = """
from cronograph.jobs import job

@job(group="own")
async def counted() -> None: ...
"""


def families_of(text: str) -> set[str]:
    """The names of all samples and families of a page, whether or not anything was counted yet."""
    found: set[str] = set()
    for family in text_string_to_metric_families(text):
        found |= {family.name, f"{family.name}_total"} if family.type == "counter" else {family.name}
        if family.type == "histogram":
            found |= {f"{family.name}_{part}" for part in ("bucket", "sum", "count")}
    return found


def value(text: str, name: str, **labels: str) -> float:
    """The value of one sample; 0 if there is none."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return sample.value
    return 0.0


def page_of(server: CronographProcess) -> str:
    answer = get(f"{server.url}/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return answer.text


def test_a_run_is_counted_once_and_everything_that_the_documents_name_is_there(
    database_url: str, processes: ProcessStarter
) -> None:
    # Built-in tasks come due now and then: their group is another one.
    (processes.folder / "counted.py").write_text(COUNTED)
    server = processes.serve(database_url, "--node-name", "n1", "--jobs", "counted")
    for query in ('mutation { triggerJob(jobName: "counted") { success } }', "{ viewer { name } }"):
        assert "errors" not in post(f"{server.url}/graphql", {"query": query}).json()
    job = {"job_name": "counted"}
    wait_until(lambda: value(page_of(server), "cronograph_executions_finished_total", **job, outcome="success") == 1)
    page = page_of(server)
    assert value(page, "cronograph_executions_started_total", **job) == 1
    assert value(page, "cronograph_execution_duration_seconds_count", **job) == 1
    assert value(page, "cronograph_run_wait_seconds_count", group="own") == 1
    assert value(page, "cronograph_node_info", node="n1") == 1
    assert value(page, "cronograph_node_ready") == 1
    assert value(page, "cronograph_nodes", state="active") == 1
    assert value(page, "cronograph_slots", kind="thread") == 20
    assert value(page, "cronograph_http_requests_total", route="/graphql", status="200", method="POST") == 2
    operations = {"kind": "mutation", "field": "triggerJob", "result": "ok"}
    assert value(page, "cronograph_graphql_operations_total", **operations) == 1
    assert value(page, "cronograph_database_transactions_total", part="engine", kind="write") > 0

    there = families_of(page)
    postgres_only = {
        "cronograph_database_connections", "cronograph_database_connections_max", "cronograph_database_xmin_age",
        "cronograph_database_oldest_transaction_seconds", "cronograph_table_size_bytes", "cronograph_table_dead_rows",
        "cronograph_table_live_rows",
    }  # fmt: skip
    replica_only = {
        f"cronograph_read_replica_{name}" for name in ("in_use", "lag_seconds", "fallbacks", "fallbacks_total")
    }
    named = {name for file in MONITORING.iterdir() for name in NAME.findall(file.read_text())}
    named -= {"cronograph_token", "process_", "python_"}
    assert len(named) > 40
    assert named - there - replica_only <= (postgres_only if database_url.startswith("sqlite") else set())
    own = {name for name in there if name.startswith("cronograph_")}
    described = {name for name in own if not name.endswith(("_bucket", "_sum", "_count"))}
    written = (MONITORING / "README.md").read_text()
    assert {name for name in described if f"`{name}`" not in written and f"`{name}_total`" not in written} == set()


def test_strange_paths_and_methods_make_no_new_labels(sqlite_url: str, processes: ProcessStarter) -> None:
    server = processes.serve(sqlite_url)
    with open_client(server.url) as client:
        for number in range(5):
            client.request("BREW", f"/pot-{number}/{number}")
            client.get(f"/tasks/{number}")
    routes = set(re.findall(r'cronograph_http_requests_total\{method="(\w+)",route="([^"]+)"', page_of(server)))
    assert {method for method, _ in routes} <= {"GET", "_other", "HEAD"}
    assert {route for _, route in routes} <= {"page", "/health/ready", "/health/live"}


def test_a_server_that_others_reach_wants_a_token(sqlite_url: str, processes: ProcessStarter) -> None:
    assert processes.run("migrate", "--database-url", sqlite_url)[0] == 0
    database = Database(sqlite_url)
    database.write_sync(add_account, "ada", Role.VIEWER, hashed())
    database.close_sync()
    status, printed = processes.run("token", "create", "--user", "ada", "--database-url", sqlite_url)
    assert status == 0
    server = processes.serve(sqlite_url, env={"CRONOGRAPH_METRICS": "token"}, auth=True)
    refused = get(f"{server.url}/metrics")
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Bearer realm="cronograph"')
    assert "cronograph_" not in refused.text
    with open_client(server.url, {"Authorization": f"Bearer {printed.strip()}"}) as client:
        assert "cronograph_node_ready 1" in client.get("/metrics").text
    with open_client(server.url, {"Authorization": "Bearer crono_nonsense"}) as client:
        assert client.get("/metrics").status_code == 401


def test_metrics_may_have_a_port_of_their_own_or_be_off(sqlite_url: str, processes: ProcessStarter) -> None:
    port = free_port()
    server = processes.serve(sqlite_url, env={"CRONOGRAPH_METRICS_PORT": str(port)}, auth=True)
    own = f"http://127.0.0.1:{port}"
    assert "cronograph_node_ready 1" in get(f"{own}/metrics").text
    assert get(f"{own}/health/ready").json()["ready"]
    assert get(f"{own}/graphql").status_code == 404
    assert get(f"{server.url}/metrics").status_code == 404
    assert server.stop() == 0
    off = processes.serve(sqlite_url, env={"CRONOGRAPH_METRICS": "off"})
    assert get(f"{off.url}/metrics").status_code == 404


def test_a_port_that_is_taken_is_named(sqlite_url: str, processes: ProcessStarter) -> None:
    first = processes.serve(sqlite_url)
    env = {"CRONOGRAPH_METRICS_PORT": first.url.rpartition(":")[2]}
    status, said = processes.run(
        "serve", "--port", "0", "--no-auth", "--database-url", sqlite_url.replace(".db", "2.db"), env=env
    )
    assert (status, "metrics_port and metrics_host: port: " in said) == (4, True)
