"""The lines of docs/operators-day.md, in the order in which they are printed, on two nodes."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import all_blocks
from tests.support.postgres import PostgresServer, find_binaries
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.shell import forked_command, shell
from tests.support.waiting import wait_until
from tests.support.web import post

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(180)]
DAY = [block for block in all_blocks() if block.document == "docs/operators-day.md"]


class Day:
    """A shell in the folder of the day, one block after the other."""

    def __init__(self, folder: Path, env: dict[str, str], elsewhere: tuple[str, str]) -> None:
        self.folder = folder
        self.env = env
        self._elsewhere = elsewhere
        self._blocks: Iterator[str] = iter([block.text for block in DAY if block.language == "sh"])

    def next(self, beginning: str) -> str:
        """Run the next block; what it said."""
        name, url = self._elsewhere
        text = next(self._blocks)
        assert text.startswith(beginning)
        text = re.sub(r"\belsewhere\b", name, text.replace("postgresql:///elsewhere", url))
        status, said, complained = shell(text, self.folder, self.env)
        assert status == 0, f"{text}\n{said}{complained}"
        return said

    def is_over(self) -> bool:
        return next(self._blocks, None) is None


@pytest.fixture
def day(processes: ProcessStarter, postgres_server: PostgresServer, postgres_url: str) -> Iterator[Day]:
    texts = {block.language: block.text for block in DAY if block.language != "sh"}
    folder = processes.folder / "shell"
    folder.mkdir()
    (folder / "tasks.yaml").write_text(texts["yaml"])
    for place in (folder, processes.folder):
        (place / "shop_jobs.py").write_text(texts["python"])
    binaries = find_binaries()
    assert processes.nursery is not None
    name = f"elsewhere_{os.getpid()}"
    env = {
        **os.environ,
        "CRONOGRAPH_DATABASE_URL": postgres_url,
        "CRONOGRAPH_JOBS": "shop_jobs",
        "CRONOGRAPH_NO_AUTH": "true",
        "PGHOST": "127.0.0.1",
        "PGPORT": str(postgres_server.port),
        "PGUSER": "postgres",
        "no_proxy": "*",
    }
    with forked_command(processes.folder, processes.nursery) as commands:
        env["PATH"] = os.pathsep.join([str(commands), str(binaries), os.environ["PATH"]])
        yield Day(folder, env, (name, postgres_server.url(name)))
    postgres_server.drop_database(name)


def node(processes: ProcessStarter, url: str, name: str) -> CronographProcess:
    return processes.begin_serve(url, "--jobs", "shop_jobs", "--node-name", name)


@pytest.mark.costly
def test_a_day_goes_as_it_is_printed(day: Day, processes: ProcessStarter, postgres_url: str) -> None:
    n1, n2 = (node(processes, postgres_url, name).wait_ready() for name in ("n1", "n2"))
    assert day.next("export CRONOGRAPH_URL") == ""
    day.env["CRONOGRAPH_URL"] = n1.url

    planned = day.next("cronograph plan tasks.yaml\n")
    assert planned.count("morning_import") >= 2
    assert planned.count("T06:00:00Z") == 2
    assert "triggered" in day.next("cronograph trigger")

    def failures() -> int:
        document = "{ executions(filter: { outcome: { eq: FAILED } }) { nodes { id } } }"
        return len(post(f"{n1.url}/graphql", {"query": document}).json()["data"]["executions"]["nodes"])

    wait_until(lambda: failures() == 1, message="the run to fail")
    found = day.next("cronograph log --failed")
    assert "there is no source 'fax'" in found
    assert "reading orders from fax" in found
    assert "fax" in day.next("sed -i")
    assert "success" in day.next("RUN=")

    day.next("cronograph nodes drain n2")
    assert n2.wait() == 0
    jobs = processes.folder / "shop_jobs.py"
    jobs.write_text(jobs.read_text().replace("return 42", "return 43"))
    node(processes, postgres_url, "n2").wait_ready()
    active = day.next("cronograph nodes list")
    assert {line.split()[0] for line in active.splitlines()[1:]} == {"n1", "n2"}

    kept = day.next("cronograph backup")
    assert "pg_dump --format=custom" in kept
    assert "is up to date and holds" in kept
    assert day.is_over()
    assert failures() == 1
