"""``cronograph worker``: a node without an API, through the real process."""

import json

import pytest

from tests.support.job_modules import write_example_jobs
from tests.support.ports import free_port
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import get, post


def begin_worker(processes: ProcessStarter, database_url: str, *arguments: str) -> CronographProcess:
    port = free_port()
    where = ["--host", "127.0.0.1", "--port", str(port), "--database-url", database_url]
    return processes.start("worker", *where, *arguments, port=port)


@pytest.mark.costly
def test_a_worker_runs_what_a_server_without_jobs_is_asked_for(postgres_url: str, processes: ProcessStarter) -> None:
    server = processes.serve(postgres_url)
    worker = begin_worker(processes, postgres_url, "--jobs", write_example_jobs(processes.folder)).wait_ready()

    def asked(document: str) -> str:
        return post(f"{server.url}/graphql", {"query": document}).text

    made = asked('mutation { triggerJob(jobName: "nap", args: { seconds: 0 }) { success errors { message } } }')
    assert '"success":true' in made, made
    wait_until(lambda: '"SUCCESS"' in asked('{ jobLogs(jobName: "nap") { outcome } }'), message="the worker to run it")
    assert (
        'cronograph_executions_finished_total{job_name="nap",outcome="success"} 1' in get(f"{worker.url}/metrics").text
    )
    assert [get(f"{worker.url}{path}").status_code for path in ("/graphql", "/graphiql", "/", "/login")] == [404] * 4
    assert "setup" not in worker.output()
    assert (worker.stop(), server.stop()) == (0, 0)


def test_a_worker_needs_no_certificate_wherever_its_health_is_looked_at(
    sqlite_url: str, processes: ProcessStarter
) -> None:
    port = free_port()
    where = ["--host", "0.0.0.0", "--port", str(port)]
    worker = processes.start("worker", *where, "--database-url", sqlite_url, "--json", port=port).wait_ready()
    (ready,) = (line for line in worker.output().splitlines() if '"ready"' in line)
    assert json.loads(ready)["url"].endswith(str(port))


def test_what_keeps_a_worker_from_starting(sqlite_url: str, processes: ProcessStarter) -> None:
    first = begin_worker(processes, sqlite_url).wait_ready()
    other = sqlite_url.replace(".db", "2.db")

    taken = processes.run("worker", "--port", str(first.port), "--database-url", other)
    locked = processes.run("worker", "--port", "0", "--database-url", sqlite_url)
    away = processes.run("worker", "--port", "0", "--database-url", "postgresql://nobody@127.0.0.1:1/none")
    unknown = processes.run("worker", "--port", "0", "--database-url", other, "--jobs", "no_such_module")

    assert [status for status, _ in (taken, locked, away, unknown)] == [4, 4, 3, 2]
    assert "metrics_port and metrics_host: port: " in taken[1]
    assert "no_such_module" in unknown[1]
    assert not any("Traceback" in said for _, said in (taken, locked, away, unknown))
