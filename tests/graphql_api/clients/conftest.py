"""One real server process for the tests of all clients."""

from collections.abc import Iterator

import pytest

from tests.support.databases import sqlite_address
from tests.support.forking import Nursery
from tests.support.job_modules import write_example_jobs
from tests.support.processes import CronographProcess, ProcessStarter


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[CronographProcess]:
    """A server with the example jobs on a database of its own; tests tell their things apart by name."""
    folder = tmp_path_factory.mktemp("clients")
    starter = ProcessStarter(folder, nursery)
    try:
        yield starter.serve(sqlite_address(folder / "x.db"), "--jobs", write_example_jobs(folder))
    finally:
        starter.end_all()
