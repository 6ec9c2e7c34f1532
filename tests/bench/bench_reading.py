"""What the reads of the dashboard and the API cost on a large log, and what pruning it costs the others.

Run it from the repository's root: ``python -m tests.bench.bench_reading``; ``--help`` lists the options. It judges
nothing. "database" is the time of the statements alone, run again with the same parameters on the bare driver; "whole"
is the read as a resolver calls it, statements put together and rows made into objects; "at first" is its first time.
What is asked most stands beside statements written by hand at the end, see ``bare_reads``; ``--bare``: only that.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Engine, event, func, select, update
from sqlalchemy.exc import OperationalError

from cronograph.jobs.builtin.prune import Retention, prune
from cronograph.jobs.core.base.errors import UnreadableRow
from cronograph.jobs.core.model import FAILURES, Outcome, Task, Trigger
from cronograph.jobs.core.occurrences import planned as occurrences
from cronograph.jobs.core.states import UNFINISHED, RunState
from cronograph.jobs.runtime.base.settings import Clock
from cronograph.jobs.runtime.duties.figures import HourCounter
from cronograph.jobs.store.db.database import Database, parse_url, sync_engine
from cronograph.jobs.store.db.faults import first_line
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import job_execution, node
from cronograph.jobs.store.statements import facts
from cronograph.jobs.store.statements import groups as stored_groups
from cronograph.jobs.store.statements.figures import failures, reports
from cronograph.jobs.store.statements.figures import statistics as stored_statistics
from cronograph.jobs.store.statements.figures.scope import Scope
from cronograph.jobs.store.statements.listing.criteria import AllOf, AnyOf, Condition, Criteria, Operator, equal, one_of
from cronograph.jobs.store.statements.listing.keyset import OrderKey, PageRequest
from cronograph.jobs.store.statements.listing.pages import count, counts_of, page, pages_of
from cronograph.jobs.store.statements.lists import EXECUTIONS, OCCURRENCES, RUNS, SKIPPED, TASKS
from cronograph.jobs.store.statements.lists import GROUPS as GROUP_LIST
from tests.bench.bare_reads import compare_all
from tests.bench.large_log import GROUPS, JOBS, RARE_JOB, RARE_TASK, Size, fill
from tests.bench.large_log import TASKS as TASK_COUNT
from tests.bench.measuring import DATABASES, fresh_database, load, milliseconds, percentile, without_rest
from tests.bench.recording import again, recorded

NEWEST = (OrderKey("id", descending=True),)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
CHART = reports.Wanted(total=False, points=False, lateness=False, stalled=False)
"""What the log's charts show."""
USUAL = reports.Wanted(total=True, points=False, lateness=False, stalled=False)
"""How long a run usually takes."""

SLOW = 5.0
"""Seconds after which a read is repeated no more."""

Read = Callable[[Connection, random.Random], object]


@dataclass(frozen=True)
class Reads:
    """Every read by what it is called, for a log of this size."""

    size: Size
    of: dict[str, Read] = field(default_factory=dict[str, Read])

    def all(self) -> dict[str, Read]:
        """In the order of the dashboard's pages."""
        self._log()
        self._neighbours()
        self._runs()
        self._tasks()
        self._figures()
        self._queue()
        return self.of

    def _add(self, name: str, function: Callable[..., object], *arguments: object) -> None:
        self.of[name] = lambda conn, _: function(conn, *arguments)

    def _executions(
        self, name: str, *conditions: Criteria, order: tuple[OrderKey, ...] = NEWEST, limit: int = 50
    ) -> None:
        request = PageRequest(EXECUTIONS.complete(order), limit, AllOf(conditions))
        self.of[f"log: {name}"] = lambda conn, _: page(conn, EXECUTIONS, request)

    def _log(self) -> None:
        failed = (equal("success", value=False), one_of("outcome", tuple(sorted(FAILURES))))
        self._executions("newest 50 (jobLogs)")
        self._executions("newest 50 of a job (jobLogs)", equal("job_name", "job-007"))
        self._executions("newest 50 of a rare job (jobLogs)", equal("job_name", RARE_JOB))
        self._executions("newest 50 failures (jobLogs)", *failed)
        self._executions("newest 50 failures of a job (jobLogs)", *failed, equal("job_name", "job-007"))
        self.of["log: a page deep down"] = lambda conn, chance: page(
            conn, EXECUTIONS, PageRequest(NEWEST, 50, after=(chance.randrange(self.size.executions),))
        )
        self._executions("job contains (common)", Condition("job_name", Operator.CONTAINS, "job-00"))
        self._executions("job contains (rare)", Condition("job_name", Operator.CONTAINS, "are-jo"))
        self._executions("of a task", equal("task_name", "task-005"))
        self._executions("of a rare task", equal("task_name", RARE_TASK))
        self._executions("outcome among failures", one_of("outcome", tuple(sorted(FAILURES))))
        for outcome in Outcome:
            self._executions(f"outcome {outcome.value}", equal("outcome", outcome))
        self._executions("outcome running", Condition("outcome", Operator.IS_NULL, value=True))
        for trigger in Trigger:
            self._executions(f"trigger {trigger.value}", equal("trigger", trigger))
        self._executions("node contains (gone long ago)", Condition("node", Operator.CONTAINS, "node-02"))
        self._executions("of a run", equal("run_id", self.size.executions // 2))
        self._executions("message contains (common)", Condition("error_message", Operator.CONTAINS, "disk"))
        self._executions("message contains (nowhere)", Condition("error_message", Operator.CONTAINS, "xyzzy"))
        self._executions("of the last hour", Condition("started_at", Operator.GTE, self.size.now - HOUR))
        self._executions("of the last 30 days", Condition("started_at", Operator.GTE, self.size.now - 30 * DAY))
        self._executions("oldest", order=(OrderKey("id"),))
        self._executions("longest", order=(OrderKey("duration", descending=True),))
        self._executions("most records", order=(OrderKey("records_processed", descending=True),))
        day = Condition("started_at", Operator.GTE, self.size.now - DAY)
        self._executions("longest of a day", day, order=(OrderKey("duration", descending=True),))
        self._executions("timeline, 200 of a day", day, limit=200)
        self._add("log: totalCount", count, EXECUTIONS, AllOf(()))
        self._add("log: totalCount of a job", count, EXECUTIONS, equal("job_name", "job-007"))

    def _neighbours(self) -> None:
        middle = self.size.now - timedelta(days=self.size.days / 2)
        for owner in (equal("task_name", "task-005"), equal("task_name", RARE_TASK), equal("job_name", "job-007")):
            for name, operator in (("older", Operator.LT), ("newer", Operator.GT)):
                order = (OrderKey("started_at", descending=operator is Operator.LT),)
                self._executions(
                    f"{name} than one of {owner.value}",
                    owner,
                    Condition("started_at", operator, middle),
                    order=order,
                    limit=1,
                )

    def _runs(self) -> None:
        unfinished = one_of("state", tuple(sorted(UNFINISHED)))
        available = RUNS.complete((OrderKey("available_at"),))
        text = AnyOf(tuple(Condition(name, Operator.CONTAINS, "rare") for name in ("job_name", "task_name")))
        group = equal("group", "group-07")
        lists: list[tuple[str, Criteria, tuple[OrderKey, ...]]] = [
            ("unfinished", unfinished, available),
            ("unfinished of a group", AllOf((unfinished, group)), available),
            ("unfinished by text", AllOf((unfinished, text)), available),
            *((state.value, equal("state", state), available if state in UNFINISHED else NEWEST) for state in RunState),
            ("success of a group", AllOf((equal("state", RunState.SUCCESS), group)), NEWEST),
            ("success by text (rare)", AllOf((equal("state", RunState.SUCCESS), text)), NEWEST),
        ]
        for name, criteria, order in lists:
            request = PageRequest(order, 50, criteria)
            self._add(f"runs: {name}", page, RUNS, request)
            self._add(f"runs: totalCount, {name}", count, RUNS, criteria)
        first = PageRequest(available, 50, unfinished)
        self.of["runs: 50 unfinished, explained"] = lambda conn, _: facts.of_runs(
            conn, page(conn, RUNS, first).items, self.size.now
        )

    def _tasks(self) -> None:
        newest_first = PageRequest(TASKS.order, 50)
        finished = PageRequest(NEWEST, 1, Condition("completed_at", Operator.IS_NULL, value=False))
        ids, jobs = list(range(1, 51)), [f"job-{number:03}" for number in range(JOBS)]
        everyone = list(range(1, TASK_COUNT + 1))
        strips = PageRequest(OCCURRENCES.order, 60)
        self._add("tasks: page of 50", page, TASKS, newest_first)
        self._add("tasks: lastStatus of 50", pages_of, EXECUTIONS, "task_id", ids, finished)
        self._add("tasks: lastStatus of 300", pages_of, EXECUTIONS, "task_id", everyone, finished)
        self._add("tasks: strips of 30 × 60", pages_of, OCCURRENCES, "task_id", ids[:30], strips)
        of_tasks, now = facts.of_tasks, self.size.now
        self.of["tasks: explain of 50"] = lambda conn, _: of_tasks(conn, page(conn, TASKS, newest_first).items, now)
        self._add("tasks: newest 100 executions of one", pages_of, EXECUTIONS, "task_id", [6], PageRequest(NEWEST, 100))
        self._add("tasks: newest 20 skips of one", pages_of, SKIPPED, "task_id", [6], PageRequest(NEWEST, 20))
        self._add("tasks: number of executions of 50", counts_of, EXECUTIONS, "task_id", ids, AllOf(()))
        self._add("jobs: newest 20 executions of 200", pages_of, EXECUTIONS, "job_name", jobs, PageRequest(NEWEST, 20))

    def _figures(self) -> None:
        now = self.size.now
        self._add("overview", reports.overview, now)
        spans = [("6 h by minute", 6 * HOUR, 60), ("24 h by hour", DAY, 3600), ("7 d by hour", 7 * DAY, 3600)]
        owners = [("all", None, None), ("a job", "job-007", None), ("a task", None, "task-005")]
        for name, length, bucket in [*spans, ("30 d by day", 30 * DAY, 86400)]:
            for of, job, task in [*owners, ("a rare task", None, RARE_TASK)]:
                scope = Scope(now - length, now, job, task)
                for asked, wanted in (("chart", CHART), ("p95", USUAL), ("everything", reports.Wanted())):
                    self._add(f"statistics: {asked}, {name}, {of}", reports.statistics, scope, bucket, now, wanted)
        for name, length in (("24 h", DAY), ("30 d", 30 * DAY)):
            self._add(f"failureGroups: {name}", _failure_groups, now - length, now)

    def _queue(self) -> None:
        now, names = self.size.now, [f"group-{number:02}" for number in range(GROUPS)]
        self._add("groups: page of 100", page, GROUP_LIST, PageRequest(GROUP_LIST.order, 100))
        self._add("groups: their depth", stored_groups.depths, names, now)
        self.of["upcoming: 200 of a day"] = lambda conn, _: list(
            islice(occurrences(_tasks(stored_statistics.planned(conn, now, now + DAY, 201, 2000)), now, now + DAY), 201)
        )


def _tasks(found: list[Task | UnreadableRow]) -> list[Task]:
    return [one for one in found if isinstance(one, Task)]


def _failure_groups(conn: Connection, start: datetime, end: datetime) -> object:
    return failures.merge_failures(failures.failures(conn, Scope(start, end), 1000), 6)


def measure(engine: Engine, read: Read, seconds: float) -> str:
    """Return how long one read takes, in a transaction as the product reads; repeated for so many seconds."""
    chance = random.Random(1)
    whole: list[float] = []
    bare: list[float] = []
    sent: list[tuple[str, Any]] = []
    until = time.perf_counter() + seconds
    while (len(whole) < 3 and sum(whole) < SLOW) or (len(whole) < 200 and time.perf_counter() < until):
        with engine.begin() as conn:
            began = time.perf_counter()
            with recorded(conn) as sent:
                read(conn, chance)
            whole.append(time.perf_counter() - began)
            bare.append(sum(again(conn, *one) for one in sent))
    database = f"database p50 {percentile(bare, 0.5) * 1e3:8.2f}, p99 {percentile(bare, 0.99) * 1e3:8.2f} ms"
    read_whole = f"whole p50 {percentile(whole, 0.5) * 1e3:8.2f}, at first {whole[0] * 1e3:8.2f} ms"
    return f"{database}; {read_whole}; {len(sent)} statements"


def plans_of(engine: Engine, read: Read) -> str:
    """The plans of a read's statements in the words of the database."""
    lines: list[str] = []
    with engine.begin() as conn:
        with recorded(conn) as sent:
            read(conn, random.Random(1))
        for statement, parameters in sent:
            prefix = "EXPLAIN QUERY PLAN" if conn.dialect.name == "sqlite" else "EXPLAIN (ANALYZE, BUFFERS)"
            cursor = conn.connection.cursor()
            cursor.execute(f"{prefix} {statement}", parameters)
            lines += [" ".join(statement.split())[:400], *(f"    {row[-1]}" for row in cursor.fetchall())]
            cursor.close()
    return "\n".join(lines)


async def counting(url: str) -> str:
    """Count the hours of the log, as a node does in the background."""
    database = Database(url)
    took: list[float] = []
    began = time.perf_counter()
    with transactions(took):
        counted = await HourCounter(database, Clock(), rest=without_rest).look()
    seconds = time.perf_counter() - began
    await database.close()
    return f"{counted} hours counted in {seconds:.1f} s; transactions: {milliseconds(took)}"


async def pruning(url: str, rows: int) -> str:
    """Prune so many of the oldest executions, while another writer commits small transactions all the time."""
    database = Database(url)
    oldest = await database.read(_start_of, rows)
    took: list[float] = []
    waits: list[float] = []
    over = asyncio.Event()

    async def others() -> None:
        while not over.is_set():
            began = time.perf_counter()
            await database.write(_small)
            waits.append(time.perf_counter() - began)
            await asyncio.sleep(0.005)

    with transactions(took):
        beside = asyncio.create_task(others())
        began = time.perf_counter()
        age = datetime.now(UTC) - oldest
        pruned = await prune(database, Retention(age))
        seconds = time.perf_counter() - began
        over.set()
        await beside
    await database.close()
    counts = ", ".join(f"{number:,} {name}" for name, number in pruned.counts().items() if number)
    return (
        f"{counts} in {seconds:.1f} s; transactions: {milliseconds(took)}; small writes beside: {milliseconds(waits)}"
    )


@contextmanager
def transactions(took: list[float]) -> Generator[None]:
    """Note how long each transaction of every engine takes while the block runs."""

    def begin(conn: Connection) -> None:
        conn.info["began"] = time.perf_counter()

    def commit(conn: Connection) -> None:
        took.append(time.perf_counter() - conn.info["began"])

    event.listen(Engine, "begin", begin)
    event.listen(Engine, "commit", commit)
    try:
        yield
    finally:
        event.remove(Engine, "begin", begin)
        event.remove(Engine, "commit", commit)


def _small(tx: Tx) -> None:
    tx.conn.execute(update(node).where(node.c.id == 1).values(seq=node.c.seq + 1))


def _start_of(conn: Connection, rows: int) -> datetime:
    ordered = select(job_execution.c.started_at).order_by(job_execution.c.id).offset(rows).limit(1)
    started: datetime = conn.execute(ordered).scalar_one()
    return started


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument(
        "--url", help="a migrated database of your own instead; filled if its log is empty, and left so"
    )
    parser.add_argument("--executions", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, help="of how many of the newest executions runs are left; all unless given")
    parser.add_argument("--unfinished", type=int, default=20_000, help="runs in the queue")
    parser.add_argument("--days", type=int, default=30, help="how far back the log goes")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each read is repeated")
    parser.add_argument("--only", default="", help="reads whose name contains this")
    parser.add_argument("--bare", action="store_true", help="only what stands beside statements written by hand")
    parser.add_argument("--plans", action="store_true", help="show the plans instead of the times")
    parser.add_argument("--prune", type=int, default=100_000, help="executions to prune at the end; 0 = none")
    chosen = parser.parse_args(arguments)
    print(f"{load()}; {chosen.executions:,} executions, {chosen.unfinished:,} unfinished runs")
    if chosen.url:
        report(chosen.url, "given", chosen)
        return
    for kind in chosen.database or DATABASES:
        with fresh_database(kind) as url:
            report(url, kind, chosen)


def report(url: str, kind: str, chosen: argparse.Namespace) -> None:
    """Fill one database unless it is, and print a line for each read."""
    engine = sync_engine(parse_url(url), pooled=10, read_only=True)
    with engine.begin() as conn:
        now = conn.execute(select(func.max(job_execution.c.started_at))).scalar_one()
    size = Size(chosen.executions, chosen.unfinished, now or datetime.now(UTC), chosen.days, runs=chosen.runs)
    if now is None:
        began = time.perf_counter()
        fill(url, size)
        print(f"{kind:8} filled in {time.perf_counter() - began:.0f} s", flush=True)
        print(f"{kind:8} {asyncio.run(counting(url))}", flush=True)
    for name, read in Reads(size).all().items():
        if chosen.only in name and not chosen.bare:
            try:
                shown = plans_of(engine, read) if chosen.plans else measure(engine, read, chosen.seconds)
            except OperationalError as error:
                # The server answers the same: it says that this takes too long.
                shown = f"given up: {first_line(error)}"
            print(f"{kind:8} {name:44} {shown}", flush=True)
    engine.dispose()
    for line in () if chosen.plans else compare_all(url, size, chosen.seconds, chosen.only):
        print(f"{kind:8} {line}", flush=True)
    if chosen.prune and not (chosen.only or chosen.plans or chosen.bare):
        print(f"{kind:8} pruning: {asyncio.run(pruning(url, chosen.prune))}", flush=True)


if __name__ == "__main__":
    main()
