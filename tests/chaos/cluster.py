"""Real nodes that run jobs which leave a witness outside the database, and short ways to steer and to judge them."""

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select, update

from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.waits import AwaitedKind
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.schema.tables import periodic_task, run, skipped_occurrence
from cronograph.jobs.store.schema.types import SchemaText
from tests.chaos.history import History, read_history
from tests.chaos.rules import Violation, violations
from tests.chaos.testimony import Testimony, contradictions, read_testimony
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import post

HEARTBEAT, LEASE = 0.5, 3.0
"""Seconds; a node is missed after the lease and then some, and even a busy machine beats in time."""

SETTINGS = {
    "CRONOGRAPH_HEARTBEAT": str(HEARTBEAT),
    "CRONOGRAPH_LEASE": str(LEASE),
    "CRONOGRAPH_DRAIN_TIMEOUT": "20",
    "CRONOGRAPH_HARD_STOP_GRACE": "2",
    "CRONOGRAPH_VERSION_WAIT": "5",
}

WITNESS = "witness.txt"

TASK_TIMES = ("created_at", "anchor_at", "next_nominal", "next_execution", "last_due_at")
SKIP_TIMES = ("first_scheduled_for", "last_scheduled_for")

SOURCE = """
import asyncio
import os
import signal
import time

from cronograph.jobs import JobContext, Result, job

WITNESS = os.open("witness.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def testify(what: str, ctx: JobContext) -> None:
    os.write(WITNESS, f"{what} {ctx.run_id} {ctx.attempt} {time.time()}\\n".encode())


async def act(ctx: JobContext, seconds: float) -> None:
    over = time.monotonic() + seconds
    while (left := over - time.monotonic()) > 0:
        testify("act", ctx)
        await asyncio.sleep(min(left, 0.02))


@job("work")
async def work(ctx: JobContext, seconds: float = 0.0) -> int:
    testify("begin", ctx)
    await act(ctx, seconds)
    testify("end", ctx)
    return 1


async def done_once(ctx: JobContext) -> int:
    testify("step:" + ctx.step_key.rpartition(":")[2], ctx)
    await act(ctx, 0.05)
    return ctx.attempt


@job("steps")
async def steps(ctx: JobContext) -> None:
    testify("begin", ctx)
    for _ in range(5):
        await ctx.step("do", done_once, ctx)
    testify("end", ctx)


@job("waits")
async def waits(ctx: JobContext) -> Result:
    testify("begin", ctx)
    await ctx.sleep("nap", 0.1)
    brought = await ctx.wait_for("go", str)
    testify("end", ctx)
    return Result(value=brought)


@job("poison")
async def poison(ctx: JobContext) -> None:
    testify("begin", ctx)
    os.kill(os.getpid(), signal.SIGKILL)
"""


ORDERS = """
from cronograph.jobs import job


@job("order")
async def order({parameters}) -> None:
    pass
"""
OLD, NEW = "orders_old", "orders_new"
POISONOUS, LONG, UNFENCED = "poisonous_jobs", "long_jobs", "unfenced"
FLOWS, ADMITTED, JOINTS, AT_ENGINES = "flow_jobs", "admitted_jobs", "joint_jobs", "engine_jobs"
"""Some of these run in child processes: a node that has them starts a launcher."""
_MORE_JOBS = (POISONOUS, LONG, UNFENCED, FLOWS, ADMITTED, JOINTS, AT_ENGINES)
SOURCES = {
    "chaos_jobs": SOURCE,
    **{name: Path(__file__).with_name(f"{name}.py").read_text() for name in _MORE_JOBS},
    OLD: ORDERS.replace("{parameters}", "amount: int"),
    NEW: ORDERS.replace("{parameters}", "amount: int, currency: str"),
}
"""The sources of the jobs, by the names of their modules; the last two are versions of one."""
TRACEBACK = "Traceback (most recent call last)"
TELL_OF_USERS = frozenset(
    f"cronograph.jobs.runtime.{name}" for name in ("attempts.attempt", "job.host", "job.ownership")
)
"""Loggers that tell of code of users which belongs to no attempt, or to one that has ended."""
MODULES = ("chaos_jobs",)
"""What every node has."""


@dataclass
class Cluster:
    """Nodes on one database.

    Attributes:
        starter: Starts the processes.
        url: The database.
        nodes: The running ones by name.
        frozen: The names of those that stood still for a while.
    """

    starter: ProcessStarter
    url: str
    nodes: dict[str, CronographProcess] = field(default_factory=dict[str, CronographProcess])
    frozen: set[str] = field(default_factory=set[str])

    @cached_property
    def engine(self) -> Engine:
        """The way to the database past the nodes."""
        engine = sync_engine(parse_url(self.url))
        self.starter.afterwards.callback(engine.dispose)
        return engine

    @cached_property
    def reader(self) -> Engine:
        """The same for anyone who only looks; on SQLite it waits for no writer."""
        engine = sync_engine(parse_url(self.url), read_only=True)
        self.starter.afterwards.callback(engine.dispose)
        return engine

    def begin(
        self, name: str, *, url: str | None = None, modules: Sequence[str] = MODULES, **env: str
    ) -> CronographProcess:
        """Start a node, without waiting for it."""
        self.write_modules()
        arguments = (*(word for module in modules for word in ("--jobs", module)), "--node-name", name)
        self.nodes[name] = self.starter.begin_serve(url or self.url, *arguments, env={**SETTINGS, **env})
        return self.nodes[name]

    def write_modules(self) -> None:
        """Put the jobs where the nodes find them."""
        for module, source in SOURCES.items():
            (self.starter.folder / f"{module}.py").write_text(source)

    def start(self, *names: str, **env: str) -> None:
        """Start nodes together and wait until all serve."""
        for name in names:
            self.begin(name, **env)
        for name in names:
            self.nodes[name].wait_ready()

    def kill(self, name: str) -> None:
        """SIGKILL."""
        self.nodes.pop(name).kill()

    @contextmanager
    def frozen_node(self, name: str) -> Generator[CronographProcess]:
        """SIGSTOP, and SIGCONT after the block."""
        process = self.nodes[name]
        # Its later lives have names that begin like this one's.
        self.frozen.add(name)
        process.pause()
        yield process
        process.resume()

    def stop_all(self) -> None:
        """SIGTERM to all at once; each must end with status 0 and without a traceback."""
        for process in self.nodes.values():
            process.terminate()
        for name, process in self.nodes.items():
            assert process.wait(60) == 0, f"{name}:\n{process.output()[-4000:]}"
        self.nodes.clear()

    def ask(self, query: str, node: str | None = None, **variables: object) -> dict[str, Any]:
        """The data of an operation, answered by some node."""
        process = self.nodes[node] if node else next(iter(self.nodes.values()))
        body = {"query": query, "variables": variables}
        answer = post(f"{process.url}/graphql", body, timeout=30).json()
        assert "errors" not in answer, answer
        data: dict[str, Any] = answer["data"]
        return data

    def create_task(self, name: str, *, value: str = "* * * * * *", syntax: str = "CRON", **more: object) -> None:
        """Create a task of job ``work``."""
        query = "mutation ($input: CreateTaskInput!) { createTask(input: $input) { errors { message } } }"
        schedule = {"syntax": syntax, "value": value}
        made = self.ask(query, input={"name": name, "jobName": "work", "schedule": schedule, **more})
        assert made["createTask"]["errors"] == []

    def trigger(self, job: str = "work", node: str | None = None, **args: object) -> None:
        """Run a job now."""
        query = "mutation ($job: String!, $args: JSON) { triggerJob(jobName: $job, args: $args) { success message } }"
        assert self.ask(query, node, job=job, args=args)["triggerJob"]["success"]

    def move_into_the_past(self, task: str, by: timedelta) -> None:
        """Make a task, and all that is remembered of its occurrences, older: as if nothing had run for so long."""
        with self.engine.begin() as conn:
            for table, condition, columns in (
                (periodic_task, periodic_task.c.name == task, TASK_TIMES),
                (run, run.c.task_name == task, ("scheduled_for",)),
                (skipped_occurrence, skipped_occurrence.c.task_name == task, SKIP_TIMES),
            ):
                for row in conn.execute(select(table).where(condition)).all():
                    moved = {name: getattr(row, name) - by for name in columns if getattr(row, name) is not None}
                    conn.execute(update(table).where(table.c.id == row.id).values(**moved))

    def count(self, table: str, condition: str = "1 = 1", **parameters: object) -> int:
        """Return how many rows of a table meet a condition."""
        statement = SchemaText(f"SELECT count(*) FROM cronograph.{table} WHERE {condition}")
        with self.reader.connect() as conn:
            return int(conn.execute(statement, parameters).scalar_one())

    def value(self, statement: str) -> object:
        """Return what a statement answers in one row with one column."""
        with self.reader.connect() as conn:
            return conn.execute(SchemaText(statement)).scalar_one()

    def newest(self, table: str, condition: str) -> int:
        """The key of the newest row of a table that meets a condition."""
        return int(str(self.value(f"SELECT max(id) FROM cronograph.{table} WHERE {condition}")))

    def waiting_for_signals(self) -> list[int]:
        """The runs that are suspended until somebody sends them a signal."""
        waiting = select(run.c.id, run.c.awaits).where(run.c.state == RunState.SUSPENDED)
        with self.reader.connect() as conn:
            return [run_id for run_id, awaits in conn.execute(waiting) if awaits["kind"] == AwaitedKind.SIGNAL]

    def unfinished(self, condition: str) -> list[dict[str, object]]:
        """Return the first runs that meet a condition, with all that is said of them."""
        statement = f"SELECT * FROM cronograph.run WHERE {condition} LIMIT 10"
        with self.reader.connect() as conn:
            rows = conn.execute(SchemaText(statement)).mappings()
            return [{name: value for name, value in row.items() if value is not None} for row in rows]

    def wait_rows(self, table: str, condition: str, more_than: int = 0, within: float = 120) -> None:
        """Wait until more than so many rows of a table meet a condition."""
        wait_until(
            lambda: self.count(table, condition) > more_than,
            within=within,
            interval=0.05,
            message=f"more than {more_than} rows of {table} with {condition}",
        )

    def wait_executions(self, more: int, within: float = 120) -> None:
        """Wait until so many more executions than now have ended well."""
        condition = "success = true"
        self.wait_rows("job_execution", condition, self.count("job_execution", condition) + more - 1, within)

    def wait_caught_up(self, within: float = 120) -> None:
        """Wait until every task is past this moment: nothing that was due before is left undecided."""
        now = self.history().read_at
        wait_until(lambda: self._is_past(now), within=within, interval=0.1, message=f"every task to be past {now}")

    def _is_past(self, moment: datetime) -> bool:
        waiting = [task.next_nominal for task in self.history().tasks]
        return all(at is None or at > moment for at in waiting)

    def history(self) -> History:
        """All that the database remembers."""
        return read_history(self.url)

    def testimony(self) -> Testimony:
        """Return what the jobs wrote down."""
        return read_testimony(self.starter.folder / WITNESS, self.frozen)

    def tracebacks(self) -> list[str]:
        """The tracebacks that the nodes have printed, those that are gone too: each is a fault that nobody handled.

        What a node tells of faults in code of its users is left out.
        """
        found: list[str] = []
        for process in self.starter.started:
            for before, after in around(process.output(), TRACEBACK):
                if tells_of_users(before):
                    continue
                found.append(f"{' '.join(process.arguments[-2:])}: {before[-200:]}{TRACEBACK}{after[:3000]}")
        return found

    def verify(self, *, at_rest: bool, pruned: bool = False) -> History:
        """Judge all that happened, or what pruning left of it; return the history if nothing is wrong."""
        history = self.history()
        wrong = [*violations(history, at_rest=at_rest, pruned=pruned)]
        wrong += [Violation(rule, where) for rule, where in contradictions(history, self.testimony(), pruned=pruned)]
        assert wrong == [], "\n".join(map(str, [f"{len(wrong)} violations", *wrong[:30]]))
        return history


def around(text: str, mark: str) -> Iterator[tuple[str, str]]:
    """What lies before and after each place where ``mark`` is."""
    place = text.find(mark)
    while place >= 0:
        yield text[:place], text[place + len(mark) :]
        place = text.find(mark, place + 1)


def tells_of_users(before: str) -> bool:
    """Whether the line of the log that ends ``before``, up to its traceback, is about a fault in code of users."""
    line = before.rpartition("\n")[2]
    event, found, rest = line.rpartition('"logger": "')
    logger = rest.partition('"')[0] if found else ""
    # What asyncio says of tasks that their jobs have forgotten names where their code is.
    return logger in TELL_OF_USERS or (logger == "asyncio" and f"{POISONOUS}.py:" in event)


def losses_were_made_good(history: History) -> int:
    """Every lost execution names its node and was followed by a further attempt; how many were lost."""
    lost = [one for one in history.executions if one.outcome is Outcome.LOST]
    for one in lost:
        attempts = history.executions_of[one.run_id]
        assert f"node {one.node} was lost while it ran this job" in (one.error_message or "")
        assert len(attempts) > one.attempt or history.run_of[one.run_id].state is RunState.FAILED
    return len(lost)


def figures(history: History) -> str:
    """Return what happened, in numbers, for a report."""
    outcomes = Counter(one.outcome.value if one.outcome else "open" for one in history.executions)
    skips: Counter[str] = Counter()
    for row in history.skipped:
        skips[row.reason.value] += row.count
    states = Counter(run.state.value for run in history.runs)
    return (
        f"{len(history.runs)} runs {dict(states)}, {len(history.executions)} executions {dict(outcomes)}, "
        f"skipped {dict(skips)}, {len(history.events)} events, {len(history.nodes)} lives of nodes"
    )
