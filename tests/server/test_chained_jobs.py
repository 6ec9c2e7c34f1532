"""A job in a served process enqueues another job."""

import pytest

from cronograph.graphql.client import Client
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until


@pytest.mark.costly
def test_a_job_enqueues_another_where_its_own_run_came_from(processes: ProcessStarter, database_url: str) -> None:
    (processes.folder / "chained_jobs.py").write_text(
        "from cronograph.jobs import Result, job\n\n"
        "@job\nasync def first(count: int) -> Result:\n"
        "    handle = await second.enqueue(count=count)\n"
        "    return Result(value=await handle.result(timeout=60))\n\n"
        "@job\ndef second(count: int) -> Result:\n    return Result(value=2 * count)\n"
    )
    server = processes.serve(database_url, "--jobs", "chained_jobs")
    with Client(server.url) as client:
        made = client.trigger_job("first", {"count": 4}).run
        assert made is not None
        run_id = made.id

        def result() -> object:
            run = client.run(run_id)
            return None if run is None else run.result

        wait_until(lambda: result() is not None)
        assert result() == 8
