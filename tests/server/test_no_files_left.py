"""A server that can open no further file goes on with what it has: runs of process jobs wait, and none is charged."""

import itertools
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import select

from cronograph.jobs.actions.runs import enqueue_runs
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.schema.tables import job_execution, node
from cronograph.jobs.store.schema.tables import run as run_table
from tests.support.job_modules import write_example_jobs
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until

NAP = NewRun("nap_in_process", Trigger.API, args={"seconds": 0}, retries=0)


@contextmanager
def no_files_left(pid: int) -> Generator[None]:
    """A process can open no further file within the block."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    held = {int(one.name) for one in Path(f"/proc/{pid}/fd").iterdir()}
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (next(one for one in itertools.count() if one not in held), hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.costly
def test_a_server_without_file_handles_charges_no_run_for_it(database_url: str, processes: ProcessStarter) -> None:
    server = processes.serve(database_url, "--jobs", write_example_jobs(processes.folder))
    database = Database(database_url)

    def states() -> set[str]:
        return set(database.write_sync(lambda tx: tx.conn.execute(select(run_table.c.state)).scalars().all()))

    def fault() -> str | None:
        said: str | None = database.write_sync(lambda tx: tx.conn.execute(select(node.c.launcher_fault)).scalar_one())
        return said

    database.write_sync(enqueue_runs, [NAP])
    wait_until(lambda: states() == {"success"}, message="the launcher to be there")
    with no_files_left(server.pid):
        database.write_sync(enqueue_runs, [NAP] * 30)
        wait_until(lambda: "Too many open files" in (fault() or ""), message="the node to say what it is short of")
        wait_until(lambda: states() == {"success", "waiting"}, message="what had begun to be handed back")
    wait_until(lambda: states() == {"success"}, message="the runs to end")
    ends = database.write_sync(lambda tx: tx.conn.execute(select(job_execution.c.outcome)).scalars().all())
    assert set(ends) == {"success", "handed_back"}
    assert fault() is None
    database.close_sync()
    assert (server.stop(), "Traceback" in server.output()) == (0, False), server.output()
