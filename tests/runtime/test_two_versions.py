"""Two versions of the same jobs side by side, as in a deploy: no accepted run fails that either version can execute.

The table of `docs/how-to/deploy.md` says the same in words.
"""

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from cronograph.jobs import Flow, JobContext, Result, RunSpec, connect, enqueue_many_sync, enqueue_sync, job
from cronograph.jobs.actions.runs import enqueue_runs, trigger_job
from cronograph.jobs.actions.signals import signal_run
from cronograph.jobs.actions.tasks import create_task, trigger_task
from cronograph.jobs.connection import Connection
from cronograph.jobs.core.base.errors import ConfigurationError, UserError
from cronograph.jobs.core.defaults import FOLLOWED
from cronograph.jobs.core.model import NewRun, Run, ScheduleSpec, TaskSpec, Trigger
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.states import FINAL, RunState
from cronograph.jobs.core.waits import Signal
from cronograph.jobs.declared import Job
from cronograph.jobs.registry import Registry
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.opening import connected
from cronograph.jobs.store.schema.tables import run as run_table
from cronograph.jobs.store.statements.runs import run_from, select_runs
from tests.support.engines import QUICK, RunningEngine, running_engine
from tests.support.storage import retry_runs
from tests.support.waiting import eventually


async def plain(number: int) -> Result:
    return Result(value=number)


async def with_a_note(number: int, note: str = "none") -> Result:
    return Result(value=[number, note])


async def with_a_needed_note(number: int, note: str) -> Result:
    return Result(value=[number, note])


async def counting(count: int) -> Result:
    return Result(value=count)


async def of_either(number: int | str) -> Result:
    return Result(value=number)


Handler = Callable[..., Awaitable[Result]]
Half = tuple[str, Handler, dict[str, Any]]
"""A version: the name of the job, its function, and what code of this version sends."""

CHANGES: dict[str, tuple[Half, Half]] = {
    "added with a default": (("work", plain, {"number": 1}), ("work", with_a_note, {"number": 2, "note": "new"})),
    "added required": (("work", plain, {"number": 1}), ("work", with_a_needed_note, {"number": 2, "note": "new"})),
    "removed": (("work", with_a_needed_note, {"number": 1, "note": "old"}), ("work", plain, {"number": 2})),
    "renamed": (("work", plain, {"number": 1}), ("work", counting, {"count": 2})),
    "type widened": (("work", plain, {"number": 1}), ("work", of_either, {"number": "two"})),
    "job renamed": (("work", plain, {"number": 1}), ("labour", plain, {"number": 2})),
}


@dataclass
class Version:
    """A version of the code: its jobs, and what its web process does."""

    word: str
    url: str
    registry: Registry
    work: Job[..., ..., Any]
    caller: Job[..., ..., Any]
    args: dict[str, Any]
    web: Connection

    @classmethod
    def of(cls, word: str, half: Half, url: str) -> "Version":
        """Declare the jobs: the work, and one that enqueues it in all ways that a job has."""
        name, handler, args = half
        registry = Registry()
        work: Job[..., ..., Any] = job(name, registry=registry, retries=0)(handler)

        @job(f"caller_{word}", registry=registry, retries=0)
        async def caller(ctx: JobContext) -> None:
            await ctx.enqueue(work, **args)
            await ctx.enqueue(name, **args)
            await ctx.enqueue_many([work.run(**args)] * 2)
            ctx.enqueue_at_end(work, **args)
            await flow_of(work, args).enqueue()
            await ctx.run(work, **args)

        return cls(word, url, registry, work, caller, args, connect(url, registry=registry))

    async def send(self) -> None:
        """Enqueue in every way that a web process has, in its own transactions and by connections of its own."""
        await self.work.enqueue(**self.args)
        self.work.options(priority="high").enqueue_sync(**self.args)
        with connected(self.url) as conn, conn.begin():
            self.work.enqueue_sync(conn, **self.args)
            enqueue_sync(conn, self.work.name, self.args, retries=0)
            enqueue_many_sync(conn, [self.work.run(**self.args), RunSpec(self.work.name, self.args, retries=0)])
            self.caller.enqueue_sync(conn)
            flow_of(self.work, self.args).enqueue_sync(conn)

    async def ask(self, database: Database, mark: str) -> None:
        """Enqueue in every way that the API has."""
        new = NewRun(self.work.name, Trigger.API, args=self.args, inherits=FOLLOWED)
        (enqueued,) = await database.write(enqueue_runs, [new])
        await database.write(trigger_job, self.work.name, args=self.args)
        spec = TaskSpec(f"{self.word} {mark}", self.work.name, ScheduleSpec(Syntax.CRON, "0 0 0 1 1 *"), args=self.args)
        await database.write(create_task, spec, submitter="tester")
        await database.write(trigger_task, spec.name, args=None, actor="tester")
        await all_over(database, only=enqueued.run.id)
        await database.write(retry_runs, [enqueued.run.id])


def flow_of(work: Job[..., ..., Any], args: dict[str, Any]) -> Flow:
    """A flow of two runs, with another one at its end."""
    flow = Flow("both")
    first = flow.add("first", work, **args)
    flow.add("second", work, **args).after(first)
    return flow.on_success(work.run(**args))


async def stored_runs(database: Database) -> list[Run]:
    """All runs, by id."""
    return await database.read(lambda conn: [run_from(row) for row in conn.execute(select_runs().order_by("id"))])


async def all_over(database: Database, *, only: int | None = None) -> list[Run]:
    """Wait until all runs are over, or one of them; the runs."""

    async def over() -> list[Run] | None:
        runs = [one for one in await stored_runs(database) if only in (None, one.id)]
        return runs if all(one.state in FINAL for one in runs) else None

    found = await eventually(over, message="all runs to be over")
    assert found is not None
    return found


async def none_pending(database: Database, registry: Registry) -> None:
    """Wait until the only node has tried all that it knows."""
    busy = [RunState.WAITING.value, RunState.RUNNING.value, RunState.SCHEDULED.value]
    statement = select(run_table.c.id).where(run_table.c.state.in_(busy), run_table.c.job_name.in_(registry.names()))

    async def tried() -> bool:
        return not await database.read(lambda conn: conn.execute(statement.limit(1)).all())

    await eventually(tried, message="the nodes to try everything")


def assert_nothing_failed(runs: list[Run]) -> None:
    """No run has failed, and none has used a retry."""
    assert [(one.job_name, one.args, one.error) for one in runs if one.state is RunState.FAILED or one.failures] == []


@pytest.mark.costly
@pytest.mark.postgres
@pytest.mark.timeout(180)
@pytest.mark.parametrize("first", ["new web", "new node"])
@pytest.mark.parametrize("change", CHANGES)
async def test_no_accepted_run_fails_that_a_version_can_execute(postgres_url: str, change: str, first: str) -> None:
    old, new = (
        Version.of(word, half, postgres_url) for word, half in zip(("old", "new"), CHANGES[change], strict=True)
    )

    async with AsyncExitStack() as stack:

        async def start(version: Version) -> RunningEngine:
            settings = replace(QUICK, node_name=version.word)
            return await stack.enter_async_context(running_engine(postgres_url, version.registry, settings))

        for version in (old, new):
            stack.callback(version.web.close)
        if first == "new web":
            database = (await start(old)).database
            await new.send()
            with pytest.raises(UserError):
                await new.ask(database, "too early")
            await old.send()
            await old.ask(database, "before")
            await none_pending(database, old.registry)
            assert_nothing_failed(await stored_runs(database))
            await start(new)
        else:
            database = (await start(new)).database
            await old.send()
            await none_pending(database, new.registry)
            assert_nothing_failed(await stored_runs(database))
            await start(old)
        for version in (old, new):
            await version.send()
            await version.ask(database, "after")
        runs = await all_over(database)
        assert_nothing_failed(runs)
        assert {one.state for one in runs} == {RunState.SUCCESS}


@pytest.mark.costly
@pytest.mark.timeout(180)
@pytest.mark.parametrize("change", CHANGES)
async def test_what_the_code_of_one_node_cannot_read_waits_for_its_next_start(database_url: str, change: str) -> None:
    """On SQLite this is what a deploy is: the process ends, and starts again with new code."""
    old, new = (
        Version.of(word, half, database_url) for word, half in zip(("old", "new"), CHANGES[change], strict=True)
    )
    async with running_engine(database_url, old.registry) as engine:
        await old.send()
        await old.ask(engine.database, "before")
        await all_over(engine.database)
        await new.send()
        await none_pending(engine.database, old.registry)
    async with running_engine(database_url, new.registry) as engine:
        await new.send()
        await new.ask(engine.database, "after")
        runs = await all_over(engine.database)
        assert_nothing_failed(runs)
        assert {one.state for one in runs} == {RunState.SUCCESS}
    for version in (old, new):
        version.web.close()


ALONE = {
    "added with a default": RunState.SUCCESS,
    "added required": RunState.SUSPENDED,
    "removed": RunState.SUSPENDED,
    "renamed": RunState.SUSPENDED,
    "type widened": RunState.SUCCESS,
    "job renamed": RunState.WAITING,
}
"""What becomes of a run of the old code where only new nodes are left; what is suspended waits for a version."""


@pytest.mark.costly
@pytest.mark.parametrize("change", CHANGES)
async def test_a_run_of_the_old_code_where_only_new_nodes_are_left(sqlite_url: str, change: str) -> None:
    old, new = (Version.of(word, half, sqlite_url) for word, half in zip(("old", "new"), CHANGES[change], strict=True))
    run_id = (await old.work.enqueue(**old.args)).run_id
    async with running_engine(sqlite_url, new.registry) as engine:
        run = await engine.run_until(run_id, ALONE[change])
        assert (run.awaits or {"kind": "version"})["kind"] == "version"
        assert run.failures == 0
    for version in (old, new):
        version.web.close()


def test_the_page_about_deploys_has_a_row_for_each_change() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "deploy.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")
    ]
    words = {RunState.SUCCESS: "runs", RunState.SUSPENDED: "waits, then fails", RunState.WAITING: "waits without limit"}
    assert {row[0]: row[3].removesuffix(" with the default") for row in rows[1:]} == {
        change: words[state] for change, state in ALONE.items()
    }


def of_steps(receipt: str, handler: Callable[..., Any]) -> Registry:
    """A job that charges once, waits, and then goes on."""
    registry = Registry()

    async def charge() -> str:
        return receipt

    job("order", registry=registry, retries=0)(handler(charge))
    return registry


def begun(charge: Callable[[], Awaitable[str]]) -> Callable[..., Awaitable[Result]]:
    async def order(ctx: JobContext, number: int) -> Result:
        receipt = await ctx.step("charge", charge)
        await ctx.wait_for("go")
        return Result(value=[receipt, number])

    return order


def continued(charge: Callable[[], Awaitable[str]]) -> Callable[..., Awaitable[Result]]:
    async def order(ctx: JobContext, number: int, note: str = "none") -> Result:
        receipt = await ctx.step("charge", charge)
        await ctx.wait_for("go")
        return Result(value=[receipt, number, note])

    return order


def release(version: str, receipt: str, said_by: str = "job") -> Registry:
    """The code of a release: all of them take the same arguments. The job says its version, or the setting does."""
    registry = Registry() if said_by == "job" else Registry(code_version=version)

    as_job = job(registry=registry, version=version) if said_by == "job" else job(registry=registry)

    @as_job
    async def order(ctx: JobContext, number: int) -> Result:
        first = await ctx.step("charge", lambda: receipt)
        await ctx.wait_for("go")
        return Result(value=[first, number, version])

    return registry


@pytest.mark.costly
@pytest.mark.postgres
@pytest.mark.parametrize("said_by", ["job", "setting"])
async def test_a_run_that_waits_stays_with_the_version_that_it_began_on_while_that_lives(
    postgres_url: str, said_by: str
) -> None:
    quick = [replace(QUICK, node_name=name) for name in ("old-node", "new-node")]
    async with AsyncExitStack() as of_new:
        async with running_engine(postgres_url, release("1", "old", said_by), quick[0]) as old:
            # Nobody has checked the arguments of the second run: it is pinned by the node that began it.
            first = await old.enqueue("order", {"number": 1})
            second = await old.enqueue_unchecked("order", {"number": 2})
            third = await old.enqueue("order", {"number": 3})
            for run_id in (first, second, third):
                await old.run_until(run_id, RunState.SUSPENDED)
            new = await of_new.enter_async_context(running_engine(postgres_url, release("2", "new", said_by), quick[1]))
            fresh = await new.enqueue("order", {"number": 4})
            assert (await new.run_until(fresh, RunState.SUSPENDED)).node == "new-node"
            for run_id in (first, second, fresh):
                await new.database.write(signal_run, run_id=run_id, signal=Signal("go"))
            ends = [(await new.finished(run_id)).execution for run_id in (first, second, fresh)]
            assert [(one.node, one.value) for one in ends] == [
                ("old-node", ["old", 1, "1"]),
                ("old-node", ["old", 2, "1"]),
                ("new-node", ["new", 4, "2"]),
            ]
        # Once no node has its version, a run goes on by its steps in the code that there is.
        await new.database.write(signal_run, run_id=third, signal=Signal("go"))
        done = (await new.finished(third)).execution
        assert (done.node, done.value) == ("new-node", ["old", 3, "2"])


@pytest.mark.parametrize("version", ["", "x" * 101, 7])
def test_what_is_no_version_is_refused_at_the_import(version: Any) -> None:
    with pytest.raises(ConfigurationError, match="version: must"):
        job("work", registry=Registry(), version=version)(plain)


def test_the_version_of_the_setting_is_for_jobs_that_say_none() -> None:
    registry = Registry(code_version="abc")
    settings: dict[str, dict[str, Any]] = {"a": {}, "b": {"version": "own"}, "c": {"version": None}}
    versions = [job(name, registry=registry, **said)(plain).definition.version for name, said in settings.items()]
    assert versions == ["abc", "own", None]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("flags", "variables", "said"),
    [({}, {}, None), ({}, {"CRONOGRAPH_CODE_VERSION": "v1"}, "v1"), ({"code_version": "v2"}, {}, "v2")],
    ids=["neither", "variable", "flag"],
)
def test_the_setting_holds_for_jobs_that_a_node_imports(
    tmp_path: Path, flags: dict[str, str], variables: dict[str, str], said: str | None
) -> None:
    (tmp_path / "own_jobs.py").write_text("from cronograph.jobs import job\n@job\nasync def work() -> None: ...\n")
    code = (
        "from cronograph.server.preparation import prepare; from cronograph.jobs.registry import default_registry;"
        f"prepare({{'jobs': 'own_jobs', **{flags}}}, None); job = default_registry().get('work');"
        "print(job.version, job.info.code_version, default_registry().get('prune_history').version)"
    )
    environment = {**os.environ, **variables, "PYTHONPATH": str(tmp_path)}
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == [str(said), str(said), "None"]


def test_a_version_is_a_part_of_the_signature_and_of_what_is_published() -> None:
    first, second, without = (
        job("work", registry=Registry(), version=version)(plain).definition for version in ("1", "2", None)
    )
    assert len({first.signature, second.signature, without.signature}) == 3
    assert [one.info.signature for one in (first, second, without)] == [
        first.signature,
        second.signature,
        without.signature,
    ]
    assert (first.args_schema["x-version"], "x-version" in without.args_schema) == ("1", False)


async def test_a_run_that_one_version_began_keeps_its_steps_and_goes_on_in_another(database_url: str) -> None:
    async with running_engine(database_url, of_steps("old receipt", begun)) as engine:
        run_id = await engine.enqueue("order", {"number": 1})
        await engine.run_until(run_id, RunState.SUSPENDED)
    async with running_engine(database_url, of_steps("new receipt", continued)) as engine:
        await engine.database.write(signal_run, run_id=run_id, signal=Signal("go"))
        done = await engine.finished(run_id)
        assert (done.run.state, done.execution.value) == (RunState.SUCCESS, ["old receipt", 1, "none"])


@pytest.mark.costly
async def test_a_run_that_another_version_began_and_cannot_go_on_waits_and_keeps_its_steps(database_url: str) -> None:
    async with running_engine(database_url, of_steps("old receipt", begun)) as engine:
        run_id = await engine.enqueue("order", {"number": 1})
        await engine.run_until(run_id, RunState.SUSPENDED)
    registry = Registry()
    job("order", registry=registry)(counting)
    async with running_engine(database_url, registry) as engine:
        await engine.database.write(signal_run, run_id=run_id, signal=Signal("go"))
        run = await engine.run_until(run_id, RunState.SUSPENDED)
        assert (run.failures, (run.awaits or {})["kind"]) == (0, "version")
    async with running_engine(database_url, of_steps("new receipt", begun)) as engine:
        done = await engine.finished(run_id)
        assert (done.run.state, done.execution.value) == (RunState.SUCCESS, ["old receipt", 1])
