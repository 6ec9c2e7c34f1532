"""A real server with jobs that the tests steer, and a real browser on it."""

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.support.forking import Nursery
from tests.support.ports import free_port
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.requirements import unavailable
from tests.support.sources import ROOT
from tests.support.web import post

MODULE = "dashboard_jobs"

SOURCE = """
import asyncio
import logging
import time
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from cronograph.jobs import JobContext, PermanentFailure, Rejected, Result, job


@job("quick", description="Is over at once")
async def quick(batch: Annotated[int, Field(le=1_000)] = 7) -> int:
    return batch


@job("gated", description="Reports progress, and goes on until the file of that name exists")
async def gated(ctx: JobContext, gate: str = "gate") -> int:
    ctx.progress(1, 4, "waiting at the gate")
    logging.getLogger("gated").info("arrived at the gate")
    while not ctx.should_stop and not Path(gate).exists():
        await asyncio.sleep(0.02)
    logging.getLogger("gated").warning("through the gate")
    return 4


@job("deaf", description="Goes on until the file of that name exists, even when it is asked to stop")
def deaf(gate: str = "gate") -> None:
    while not Path(gate).exists():
        time.sleep(0.02)


@job("broken", description="Always fails")
async def broken(reason: str = "no luck") -> None:
    raise PermanentFailure(f"it broke: {reason}")


@job("flaky", description="Fails twice, and then does not")
async def flaky(ctx: JobContext) -> int:
    if ctx.attempt < 3:
        raise RuntimeError(f"attempt {ctx.attempt} has no luck")
    return ctx.attempt


@job("chatty", description="Logs many lines")
async def chatty(ctx: JobContext, lines: int = 1000) -> int:
    for number in range(1, lines + 1):
        logging.getLogger("chatty").info("line number %d", number)
    return lines


@job("noisy", description="Logs 9,000 lines, and as many again when the file of that name exists")
async def noisy(ctx: JobContext, gate: str = "gate") -> None:
    for half in range(2):
        for number in range(9000):
            logging.getLogger("noisy").info("line number %d", 9000 * half + number + 1)
        while not half and not Path(gate).exists():
            await asyncio.sleep(0.02)


@job("coloured", description="Logs a line with a colour, and one of JSON")
async def coloured(ctx: JobContext) -> None:
    logging.getLogger("coloured").info("a \\033[31mred\\033[0m word")
    logging.getLogger("coloured").info('{"order": 7}')


@job("hundreds", description="Takes very many steps at once")
async def hundreds(ctx: JobContext, steps: int = 302) -> None:
    await asyncio.gather(*(ctx.step("do", lambda n=n: n, key=n) for n in range(steps)))


class Approval(BaseModel):
    limit: int
    note: str = ""


def mail_once(attempt: int) -> str:
    if attempt == 1:
        raise RuntimeError("the mail server is down")
    return "sent"


@job(
    "ordered",
    description="Charges, mails at the second attempt, and waits for somebody",
    retries=2,
    retry_delay=0.05,
    labels={"team": "billing"},
    labels_from={"order": "order"},
)
async def ordered(ctx: JobContext, order: int = 7) -> Result:
    receipt = await ctx.step("charge", lambda: f"receipt for order {order}")
    await ctx.step("mail", mail_once, ctx.attempt)
    try:
        approval = await ctx.wait_for("approved", Approval)
    except Rejected as error:
        return Result(value=f"rejected: {error}")
    return Result(value=await ctx.step("ship", lambda: f"{receipt}, at most {approval.limit}"))
"""


@dataclass
class Site:
    """A running server, and what a test needs to steer it from outside the browser."""

    process: CronographProcess
    folder: Path

    @property
    def url(self) -> str:
        """Its address."""
        return self.process.url

    def ask(self, query: str, **variables: object) -> Any:
        """The data of a GraphQL operation; an answer with errors fails the test."""
        answer = post(f"{self.url}/graphql", {"query": query, "variables": variables})
        body = answer.json()
        assert "errors" not in body, body["errors"]
        return body["data"]

    def trigger(self, job: str, **args: object) -> str:
        """Make a run of a job; its id."""
        query = "mutation($job: String!, $args: JSON) { triggerJob(jobName: $job, args: $args) { run { id } } }"
        run_id: str = self.ask(query, job=job, args=args)["triggerJob"]["run"]["id"]
        return run_id

    def create_task(self, name: str, job: str, value: str = "0 0 0 1 1 *", **more: object) -> None:
        """Make a task, by default one that is not due while the test lasts."""
        query = "mutation($input: CreateTaskInput!) { createTask(input: $input) { errors { message } } }"
        schedule = {"syntax": "CRON", "value": value}
        answer = self.ask(query, input={"name": name, "jobName": job, "schedule": schedule, **more})
        assert answer["createTask"]["errors"] == []

    def task(self, name: str) -> Any:
        """Return what the server knows of a task."""
        fields = "name description pausedAt pauseReason args schedule { value timezone }"
        return self.ask(f"query($name: String!) {{ task(name: $name) {{ {fields} }} }}", name=name)["task"]

    def run_state(self, run_id: str) -> str:
        """The state of a run."""
        state: str = self.ask("query($id: ID!) { run(id: $id) { state } }", id=run_id)["run"]["state"]
        return state

    def execution_of(self, run_id: str) -> str | None:
        """The newest execution of a run, if there is one."""
        query = "query($id: ID!) { run(id: $id) { executions(last: 1) { nodes { id } } } }"
        nodes = self.ask(query, id=run_id)["run"]["executions"]["nodes"]
        return nodes[0]["id"] if nodes else None

    def open_gate(self, gate: str = "gate") -> None:
        """Let the jobs go on that wait for this file."""
        (self.folder / gate).touch()


def says_why(button: Locator, reason: str | re.Pattern[str]) -> None:
    """A button that cannot be pressed has the focus all the same, and shows and says why."""
    expect(button).to_be_disabled()
    button.focus()
    expect(button).to_be_focused()
    expect(button).to_have_accessible_description(reason)


def need_dashboard() -> None:
    """Skip (under CI: fail) when the dashboard was not built."""
    if not (ROOT / "server" / "static" / "index.html").is_file():
        unavailable("The built dashboard", "install the project without CRONOGRAPH_SKIP_WEB")


def start_site(folder: Path, starter: ProcessStarter, port: int, env: Mapping[str, str] | None = None) -> Site:
    """Start a server on a port of its own choice, so that it can come back there."""
    arguments = ("--host", "127.0.0.1", "--port", str(port), "--database-url", f"sqlite:///{folder / 'e2e.db'}")
    process = starter.start("serve", *arguments, "--no-auth", "--jobs", MODULE, env=env, port=port)
    return Site(process.wait_ready(), folder)


@contextmanager
def site_with(folder: Path, nursery: Nursery, more_jobs: str = "") -> Generator[Site]:
    """A server in a folder of its own, with the source of more jobs than the others have."""
    need_dashboard()
    (folder / f"{MODULE}.py").write_text(SOURCE + more_jobs)
    starter = ProcessStarter(folder, nursery)
    try:
        yield start_site(folder, starter, free_port())
    finally:
        starter.end_all()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[Site]:
    """A server for all tests of a module: they use tasks and gates of their own names."""
    with site_with(tmp_path_factory.mktemp("dashboard"), nursery) as site:
        yield site


@pytest.fixture
def guarded(tmp_path: Path, processes: ProcessStarter) -> tuple[str, str]:
    """The addresses of a server with sign-in and without accounts, and of its set-up link, which is good once."""
    need_dashboard()
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    port, database = free_port(), tmp_path / "guarded.db"
    where = ("--host", "localhost", "--port", str(port), "--database-url", f"sqlite:///{database}")
    process = processes.start("serve", *where, "--jobs", MODULE, port=port)
    process.wait_ready()
    return f"http://localhost:{port}", Path(f"{database}.setup-link").read_text().strip()
