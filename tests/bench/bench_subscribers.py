"""Live events under load: do all subscribers get all of their events in order, and how long do these take?

Run it from the repository's root: ``python -m tests.bench.bench_subscribers``; ``--help`` lists the options. A real
server; its readers are another process, on real WebSockets with compression as browsers have them, and this process
makes the runs. All share the machine. With ``--fields dashboard`` the unfiltered ones ask for what the overview does,
by the dashboard's own document. ``filters``: a thousand subscribers, each with a filter of its own, a few runs a
second. ``unfiltered``: twenty subscribers of everything while many runs a second change, and one socket that reads
nothing at all: it alone is cut off. What each got is compared with the table of events.

The time of an event is from the beginning of the transaction that made the change to its arrival at the reader.
"""

import argparse
import asyncio
import itertools
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import psutil

from cronograph.jobs.core.events import Cursor, Event, EventFilter, EventKind
from cronograph.jobs.store.db.database import Connection, Database
from cronograph.jobs.store.statements import events
from tests.bench.audience_process import Received, SocketPlan
from tests.bench.audience_process import main as attend
from tests.bench.measuring import DATABASES, fresh_database, load, milliseconds
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.sources import ROOT
from tests.support.waiting import let_pass, wait_until
from tests.support.web import open_client

JOBS = """
from cronograph.jobs import job

async def nothing() -> None:
    return None

for number in range({count}):
    job(f"job-{{number}}")(nothing)
"""
CALLERS = 8
"""Requests that are under way at once, so that a slow answer does not slow the pace."""
PER_SOCKET = 20
"""Subscriptions of one socket; the server allows no more."""
EVENTS_OF_A_RUN = 5
"""Created, running, started, finished, succeeded."""
KINDS = sorted(EventKind)
FIELDS = {
    "plain": "cursor at kind ... on RunEvent { runId taskName jobName group runState } "
    "... on ExecutionEvent { runId executionId taskName jobName group outcome }",
    "detailed": "cursor at kind ... on RunEvent { runId run { id state jobName group attempt } } "
    "... on ExecutionEvent { runId run { id state jobName group attempt } execution { id outcome completedAt } }",
}
"""What is asked of an event: only its own members, or also what it is about, which is read at delivery."""
DASHBOARD = "dashboard"
"""The dashboard's own document instead, with the parts that its overview looks at."""
OVERVIEW = {"tasks": False, "runs": True, "executions": True, "nodes": False}
DOCUMENTS = ROOT / "server" / "static" / "documents.json"
SETTLED = "{ runs(filter: { finishedAt: { isNull: true } }) { totalCount } }"


@dataclass(frozen=True)
class Subscription:
    """One subscription, in the words of the API and of the engine."""

    words: dict[str, Any] | None
    wanted: EventFilter


def distinct(count: int, keys: int) -> list[Subscription]:
    """So many different filters, a quarter each by group, by job, by task, and by a set of kinds."""
    found: list[Subscription] = []
    sets = (set(one) for size in range(3, len(KINDS)) for one in itertools.combinations(KINDS[:-1], size))
    for number in range(count):
        key = number // 4 % keys
        if number % 4 == 0:
            found.append(Subscription({"group": f"group-{key}"}, EventFilter(group=f"group-{key}")))
        elif number % 4 == 1:
            found.append(Subscription({"jobName": f"job-{key}"}, EventFilter(job_name=f"job-{key}")))
        elif number % 4 == 2:
            found.append(Subscription({"taskName": f"task-{key}"}, EventFilter(task_name=f"task-{key}")))
        else:
            kinds = next(sets)
            words = {"kinds": sorted(kind.name for kind in kinds)}
            found.append(Subscription(words, EventFilter(kinds=frozenset(kinds))))
    return found


def plans_of(subscriptions: Sequence[Subscription], fields: str, after: str, per_socket: int) -> list[SocketPlan]:
    """The subscriptions spread over sockets."""
    head = "subscription ($after: String, $filter: EventFilter) { events(after: $after, filter: $filter)"
    document = f"{head} {{ {fields} }} }}"
    payloads = [{"query": document, "variables": {"after": after, "filter": one.words}} for one in subscriptions]
    return [SocketPlan(tuple(payloads[n : n + per_socket])) for n in range(0, len(payloads), per_socket)]


def dashboard_plans(count: int, after: str, per_socket: int = 1) -> list[SocketPlan]:
    """So many pages of the dashboard, all of everything.

    Raises:
        SystemExit: The dashboard was not built.
    """
    if not DOCUMENTS.is_file():
        raise SystemExit(f"{DOCUMENTS} is missing: install the project without CRONOGRAPH_SKIP_WEB")
    documents: list[str] = list(json.loads(DOCUMENTS.read_text()).values())
    (document,) = [one for one in documents if "subscription Events(" in one]
    payload = {"query": document, "variables": {"after": after, **OVERVIEW}}
    pages = [payload] * count
    return [SocketPlan(tuple(pages[n : n + per_socket])) for n in range(0, count, per_socket)]


class Api:
    """The server's API, as far as it is needed here."""

    def __init__(self, url: str) -> None:
        self.client = open_client(url, timeout=60)

    def ask(self, document: str, **variables: Any) -> Any:
        """The data of an answer."""
        answer = self.client.post("/graphql", json={"query": document, "variables": variables}).json()
        assert "errors" not in answer, answer
        return answer["data"]

    def make_tasks(self, count: int) -> None:
        """Tasks that never come due while this runs."""
        document = "mutation ($input: CreateTaskInput!) { createTask(input: $input) { errors { message } } }"
        schedule = {"syntax": "CRON", "value": "0 0 0 1 1 *"}
        for number in range(count):
            given = {"name": f"task-{number}", "jobName": f"job-{number}", "schedule": schedule}
            assert self.ask(document, input=given)["createTask"]["errors"] == []

    def trigger(self, number: int) -> None:
        """A run of a task."""
        document = "mutation ($name: String!) { triggerTask(input: { name: $name }) { errors { message } } }"
        assert self.ask(document, name=f"task-{number}")["triggerTask"]["errors"] == []

    def enqueue(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Runs, each of a job and in a group."""
        runs = [{"jobName": f"job-{job}", "group": f"group-{group}"} for job, group in pairs]
        document = (
            "mutation ($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { errors { message } } }"
        )
        assert self.ask(document, runs=runs)["enqueueRuns"]["errors"] == []

    def settled(self) -> bool:
        """Return whether every run has ended."""
        return bool(self.ask(SETTLED)["runs"]["totalCount"] == 0)


def at_pace(action: Callable[[int], None], rate: float, seconds: float) -> int:
    """Do something so many times a second, however long each takes; how often it was done."""
    count, began = max(1, round(rate * seconds)), time.monotonic()
    with ThreadPoolExecutor(CALLERS) as callers:
        calls: list[Future[None]] = []
        for number in range(count):
            let_pass(max(0.0, began + number / rate - time.monotonic()))
            calls.append(callers.submit(action, number))
    for call in calls:
        call.result()
    return count


@dataclass(frozen=True)
class Usage:
    """What a process has used so far."""

    cpu: float
    rss: int

    @classmethod
    def of(cls, process: CronographProcess) -> "Usage":
        """Now."""
        found = psutil.Process(process.pid)
        times = found.cpu_times()
        return cls(times.user + times.system, found.memory_info().rss)


@dataclass(frozen=True)
class Bench:
    """A server at work, and how its database is reached."""

    server: CronographProcess
    api: Api
    url: str
    options: argparse.Namespace

    def happened(self, after: str) -> list[Event]:
        """Every event behind a cursor, as the table has them."""

        def read(conn: Connection) -> list[Event]:
            return list(all_after(conn, Cursor.parse(after)))

        async def ask() -> list[Event]:
            database = Database(self.url)
            try:
                return await database.read(read)
            finally:
                await database.close()

        return asyncio.run(ask())

    def connections(self) -> int:
        """Return how many WebSockets and requests the server has open."""
        found = psutil.Process(self.server.pid).net_connections("tcp")
        return sum(one.status == psutil.CONN_ESTABLISHED and one.laddr.port == self.server.port for one in found)


def all_after(conn: Connection, cursor: Cursor) -> Generator[Event]:
    """Page through the table of events."""
    while page := events.after(conn, cursor, 500):
        yield from page
        cursor = page[-1].cursor


@contextmanager
def serving(kind: str, options: argparse.Namespace) -> Generator[Bench]:
    """A server on a fresh database, with its jobs and tasks."""
    with fresh_database(kind) as url, tempfile.TemporaryDirectory() as folder:
        Path(folder, "bench_jobs.py").write_text(JOBS.format(count=options.keys))
        starter = ProcessStarter(Path(folder), None)
        try:
            server = starter.serve(url, "--jobs", "bench_jobs")
            api = Api(server.url)
            api.make_tasks(options.keys)
            yield Bench(server, api, url, options)
            server.stop()
        finally:
            starter.end_all()


@contextmanager
def audience(bench: Bench, plans: Sequence[SocketPlan]) -> Generator[Pipe]:
    """The readers, subscribed."""
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    process = context.Process(target=attend, args=(theirs, bench.server.port, plans, not bench.options.plain))
    process.start()
    theirs.close()
    try:
        assert answer(pipe, "to subscribe") == "subscribed"
        yield pipe
        pipe.send("leave")
        process.join(30)
    finally:
        process.kill()


def answer(pipe: Pipe, what: str) -> Any:
    """Return what the readers say.

    Raises:
        SystemExit: they took longer than two minutes.
    """
    if not pipe.poll(120):
        raise SystemExit(f"the readers took longer than two minutes {what}")
    return pipe.recv()


def faults(subscriptions: Sequence[Subscription], got: Sequence[Received], all_events: Sequence[Event]) -> list[str]:
    """Everybody who did not get exactly the events of its filter, in order."""
    found: list[str] = []
    for one, theirs in zip(subscriptions, got, strict=True):
        due = [str(event.cursor) for event in all_events if one.wanted.matches(event.change)]
        found += theirs.faults
        if theirs.cursors != due:
            found.append(f"{one.words}: expected {len(due)} events, got {len(theirs.cursors)}, others or out of order")
    return found


def report(
    bench: Bench, subscriptions: Sequence[Subscription], plans: list[SocketPlan], drive: Callable[[], int]
) -> None:
    """Subscribe, drive the load, compare and print."""
    before = Usage.of(bench.server)
    after = plans[0].payloads[0]["variables"]["after"]
    with audience(bench, plans) as pipe:
        joined, began, first = Usage.of(bench.server), time.monotonic(), datetime.now(UTC)
        runs = drive()
        took = time.monotonic() - began
        wait_until(bench.api.settled, within=300, interval=0.1, message="every run to end")
        happened = bench.happened(after)
        pipe.send(sum(one.wanted.matches(event.change) for one in subscriptions for event in happened))
        got: list[Received] = [one for theirs in answer(pipe, "to read all events") for one in theirs]
        clients: float = answer(pipe, "to tell their processor time")
        ended = Usage.of(bench.server)
        print(
            f"  {runs / took:.0f} runs/s and {len(happened) / took:.0f} events/s for {took:.0f} s; "
            f"{sum(len(one.cursors) for one in got)} deliveries to {len(got)} subscribers"
        )
        # What was changed before the readers came, and published after it, has waited for them.
        fresh = {str(event.cursor) for event in happened if event.at >= first}
        waits = [wait for one in got for at, wait in zip(one.cursors, one.waits, strict=True) if at in fresh]
        print(f"  event to client: {milliseconds(waits)}")
        wrong = faults(subscriptions, got, happened)
        print(f"  every event of every filter once and in order: {'yes' if not wrong else f'NO, {len(wrong)} faults'}")
        for fault in wrong[:5]:
            print(f"    {fault}")
        if any(plan.stalled for plan in plans):
            stalled_is_cut(bench)
        cpu = ended.cpu - joined.cpu
        print(f"  server: {cpu:.1f} s of CPU ({cpu / took * 100:.0f} % of a core); readers {clients:.1f} s")
    wait_until(lambda: bench.connections() <= 1, within=30, interval=0.1, message="the readers' connections to end")
    words = (("started", before), ("subscribed", joined), ("after the load", ended), ("left", Usage.of(bench.server)))
    print("  server's memory: " + ", ".join(f"{name} {usage.rss / 2**20:.0f} MB" for name, usage in words), flush=True)
    if wrong:
        raise SystemExit("subscribers missed events, or got others")


def stalled_is_cut(bench: Bench) -> None:
    """Wait for the end of the reader that stalls, and say so."""
    wait_until(lambda: cut_off(bench) > 0, within=30, interval=0.2, message="the stalled reader to be cut off")
    print(f"  sockets cut off because nobody read them: {cut_off(bench)}")


def cut_off(bench: Bench) -> int:
    """Sockets that the server has cut off, by its log."""
    return bench.server.output().count("was cut off: its reader took nothing")


def filters(bench: Bench) -> None:
    """Many different filters, few events."""
    options = bench.options
    subscriptions = distinct(options.subscribers, options.keys)
    after = bench.api.ask("{ asOf }")["asOf"]
    plans = plans_of(subscriptions, FIELDS[options.fields], after, PER_SOCKET)

    def one_run(number: int) -> None:
        if number % 4 == 3:
            bench.api.trigger(number % options.keys)
        else:
            bench.api.enqueue([(number % options.keys, number * 7 % options.keys)])

    rate = options.events / EVENTS_OF_A_RUN
    report(bench, subscriptions, plans, lambda: at_pace(one_run, rate, options.seconds))


def unfiltered(bench: Bench) -> None:
    """Few subscribers of everything, many events, and one that does not read."""
    options = bench.options
    subscriptions = [Subscription(None, EventFilter())] * options.unfiltered
    after = bench.api.ask("{ asOf }")["asOf"]
    if options.fields == DASHBOARD:
        plans, (many,) = dashboard_plans(options.unfiltered, after), dashboard_plans(PER_SOCKET, after, PER_SOCKET)
    else:
        plans = plans_of(subscriptions, FIELDS[options.fields], after, 1)
        (many,) = plans_of(subscriptions[:1] * PER_SOCKET, FIELDS[options.fields], after, PER_SOCKET)
    if options.seconds >= 20:
        plans.append(SocketPlan(many.payloads, stalled=True))
    batch = max(1, options.runs // 10)

    def some_runs(number: int) -> None:
        first = number * batch
        bench.api.enqueue([(one % options.keys, one % 7) for one in range(first, first + batch)])

    report(bench, subscriptions, plans, lambda: batch * at_pace(some_runs, options.runs / batch, options.seconds))


PARTS = {"filters": filters, "unfiltered": unfiltered}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--part", choices=list(PARTS), action="append", help="both unless given")
    parser.add_argument("--seconds", type=float, default=40, help="of load; below 20 there is no stalled reader")
    parser.add_argument("--subscribers", type=int, default=1_000, help="with a filter each")
    parser.add_argument("--keys", type=int, default=250, help="different jobs, tasks and groups")
    parser.add_argument("--events", type=float, default=20, help="a second, for the filtered ones")
    parser.add_argument("--unfiltered", type=int, default=20, help="subscribers of everything")
    parser.add_argument("--runs", type=int, default=200, help="a second, for the unfiltered ones")
    parser.add_argument(
        "--fields",
        choices=[*FIELDS, DASHBOARD],
        default="plain",
        help="of an event, or also what it is about, or (unfiltered only) what the dashboard's overview asks",
    )
    parser.add_argument("--plain", action="store_true", help="without compression of the WebSockets")
    options = parser.parse_args(arguments)
    if options.fields == DASHBOARD:
        # Its pages follow everything.
        options.part = ["unfiltered"]
    for kind in options.database or DATABASES:
        for part in options.part or PARTS:
            print(f"{kind}, {part}; {load()}", flush=True)
            with serving(kind, options) as bench:
                PARTS[part](bench)


if __name__ == "__main__":
    main()
