"""Without the extra `server`: jobs are written, enqueued and tested; what needs more says in one line how to get it."""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

from tests.support.project import CORE, distribution, named_in

WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
# importlib.util.find_spec tells a module that is not there by None.
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {absent!r} else find_spec(name, package)
"""
WRITES_ENQUEUES_AND_TESTS = """
import asyncio
from pathlib import Path
from cronograph.jobs import JobContext, Result, connect, enqueue_sync, every, job
from cronograph.jobs.testing import Queue, drain, run_job

@job(schedule=every("15m"), retries=1, unique_key="shop-{source}")
async def import_orders(ctx: JobContext, source: str = "web") -> Result:
    ctx.log.info("imported", source=source)
    return Result(records_processed=ctx.attempt)

@job
def add(a: int, b: int) -> int:
    return a + b

async def main():
    assert (await run_job(import_orders, {"source": "shop"})).records_processed == 1
    async with Queue() as queue:
        await import_orders.enqueue(None, "shop")
        await add.enqueue(None, 3, 4)
        queue.assert_enqueued(add, {"a": 3, "b": 4})
        print(*(run.attempts[-1].records_processed for run in await drain(queue)))

asyncio.run(main())
with connect("sqlite:///nothing.db"):
    try:
        add.enqueue_sync(a=1, b=2)
    except Exception as error:
        print(type(error).__name__)
"""


def with_what_they_need(names: Iterable[str]) -> frozenset[str]:
    """Distributions with all that these bring along, extras left out but the one that the project names."""
    found: set[str] = set()
    waiting = {*names, "psycopg-binary"}
    while waiting:
        name = waiting.pop()
        found.add(name)
        plain = [one for one in requires(name) or [] if "extra ==" not in one]
        waiting |= named_in(plain) - found
    return frozenset(found)


def absent() -> Iterator[str]:
    """The modules of all libraries that an installation of the core does not have."""
    kept = with_what_they_need(name for name in CORE if name != "tzdata")
    for module, distributions in packages_distributions().items():
        if module != "cronograph" and not kept.intersection(map(distribution, distributions)):
            yield module


def run(program: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program where only the libraries of the core can be imported."""
    code = WITHOUT.format(absent={one for one in absent() if not one.startswith("__editable__")}) + program
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, cwd=folder
    )


@pytest.mark.costly
def test_jobs_are_written_enqueued_and_tested_with_the_libraries_of_the_core_alone(tmp_path: Path) -> None:
    ended = run(WRITES_ENQUEUES_AND_TESTS, tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "1 7\nStorageError\n", "")


def test_a_command_without_the_libraries_of_the_server_says_how_to_get_them(tmp_path: Path) -> None:
    command = "from cronograph.__main__ import main\nmain()\n"
    needed = "cronograph: the commands need the server's libraries, and typer is not installed"
    said = f"{needed}: pip install 'cronograph[server]'"
    ended = run(command, tmp_path, "serve")
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", f"error: {said}\n")
    answer = json.loads(run(command, tmp_path, "check", "--json").stdout)
    assert answer == {"ok": False, "code": "USAGE", "errors": [said], "warnings": []}


NEEDS = {
    "cronograph.server.Cronograph": ("httpx", "server"),
    "cronograph.graphql.client": ("httpx", "client"),
    "cronograph.jobs.testing.Server": ("httpx", "server"),
}


def test_an_import_that_needs_more_names_the_extra(tmp_path: Path) -> None:
    program = """
import sys
from importlib import import_module

for name in sys.argv[1:]:
    home, _, attribute = name.rpartition(".")
    try:
        getattr(import_module(home), attribute, None) or import_module(name)
    except ModuleNotFoundError as error:
        print(error)
"""
    said = [
        f"{name} needs {library}, which is not installed: pip install 'cronograph[{extra}]'"
        for name, (library, extra) in NEEDS.items()
    ]
    assert run(program, tmp_path, *NEEDS).stdout.splitlines() == said
