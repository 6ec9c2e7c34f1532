"""A server at work for half an hour: does its memory stay flat, and does it still answer at once at the end?

Run it from the repository's root: ``python -m tests.bench.watch_soak``; ``--help`` lists the options. A server with
jobs that do nothing; 300 runs a second come in by GraphQL, ten WebSockets follow every event, and five questions of the
dashboard are asked each second. Each minute prints the server's memory and processor time, the questions' times of that
minute, the events that arrived and what waits. It judges nothing; a last line compares the end with the second minute.
"""

import argparse
import asyncio
import itertools
import multiprocessing
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from typing import Any, cast

import uvloop
from typing_extensions import override

from cronograph.jobs.core.events import EventFilter
from tests.bench.audience_process import NEXT, Reader, SocketPlan, open_reader
from tests.bench.bench_answers import LOG_PAGE, STRIPS
from tests.bench.bench_subscribers import Api, Bench, Subscription, Usage, plans_of, serving
from tests.bench.measuring import DATABASES, load, milliseconds
from tests.support.waiting import let_pass

OVERVIEW = "{ overview { running waiting stuck failedLast24h successRate runsPerMinute liveNodes slots } }"
RUNS = """{ runs(first: 50, filter: { state: { in: [WAITING, RUNNING, STUCK] } }) {
    nodes { id state jobName taskName group attempt submittedAt startedAt } pageInfo { hasNextPage endCursor } } }"""
QUESTIONS: Sequence[tuple[str, str, dict[str, Any]]] = (
    ("overview", OVERVIEW, {}), ("log page", LOG_PAGE, {}), ("strips", STRIPS, {"first": 30}), ("runs", RUNS, {}),
    ("time", "{ serverTime }", {}),
)  # fmt: skip
UNFINISHED = "{ runs(filter: { state: { in: [WAITING, SCHEDULED, RUNNING, STUCK] } }) { totalCount } }"
FIELDS = "cursor at kind runId executionId taskName jobName group state"
BATCHES = 10
"""Requests a second by which the runs come in."""


class Counter(Reader):
    """Counts events and keeps none of them."""

    @override
    def _take(self, first: int, payload: bytes, now: float) -> None:
        before = len(self.messages)
        super()._take(first, payload, now)
        if len(self.messages) > before and NEXT in self.messages[-1][1][:300]:
            self.messages.pop()


async def _listen(pipe: Pipe, port: int, plans: Sequence[SocketPlan]) -> None:
    readers = [cast("Counter", await open_reader(port, plan, deflate=True, kind=Counter)) for plan in plans]
    pipe.send("subscribed")
    while await asyncio.to_thread(pipe.recv) == "count":
        pipe.send(([reader.events for reader in readers], [reader.fault for reader in readers if reader.fault]))
    for reader in readers:
        reader.end()


def _readers(pipe: Pipe, port: int, plans: Sequence[SocketPlan]) -> None:
    uvloop.run(_listen(pipe, port, plans))


@dataclass(frozen=True, slots=True)
class Minute:
    """What a minute showed."""

    rss: float
    answers: Sequence[tuple[str, float]]

    @property
    def took(self) -> Sequence[float]:
        """The times of all answers."""
        return [seconds for _, seconds in self.answers]

    def by_question(self) -> str:
        """The times of each question."""
        times = {name: [took for asked, took in self.answers if asked == name] for name, _, _ in QUESTIONS}
        return "; ".join(f"{name} {milliseconds(took)}" for name, took in times.items() if took)


class Pressure:
    """What comes in, from threads of this process, until it is over.

    Args:
        bench: The server.
        options: How much.
    """

    def __init__(self, bench: Bench, options: argparse.Namespace) -> None:
        self._bench = bench
        self._options = options
        self._over = threading.Event()
        self._times: list[tuple[str, float]] = []
        self.enqueued = 0

    def enqueue(self) -> None:
        """Runs at a pace."""
        api, batch, keys = Api(self._bench.server.url), self._options.runs // BATCHES, self._options.keys
        for number in self._beats(BATCHES):
            api.enqueue([(one % keys, one % 7) for one in range(number * batch, (number + 1) * batch)])
            self.enqueued += batch

    def ask(self) -> None:
        """Questions at a pace, each by a free thread."""
        api = Api(self._bench.server.url)
        questions = itertools.cycle(QUESTIONS)

        def one() -> None:
            name, document, variables = next(questions)
            began = time.perf_counter()
            api.ask(document, **variables)
            self._times.append((name, time.perf_counter() - began))

        with ThreadPoolExecutor(8) as callers:
            for _ in self._beats(self._options.queries):
                callers.submit(one).add_done_callback(lambda call: call.result())

    def _beats(self, rate: float) -> "itertools.takewhile[int]":
        began = time.monotonic()

        def goes_on(number: int) -> bool:
            return not self._over.wait(max(0.0, began + number / rate - time.monotonic()))

        return itertools.takewhile(goes_on, itertools.count())

    def times(self) -> list[tuple[str, float]]:
        """The questions and their times since the last call."""
        found, self._times = self._times, []
        return found

    def end(self) -> None:
        """Let nothing more come in."""
        self._over.set()


def soak(bench: Bench, options: argparse.Namespace) -> None:
    """Press, and print each minute."""
    after = bench.api.ask("{ asOf }")["asOf"]
    plans = plans_of([Subscription(None, EventFilter())] * options.subscribers, FIELDS, after, 1)
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    readers = context.Process(target=_readers, args=(theirs, bench.server.port, plans), daemon=True)
    readers.start()
    pressure, minutes, seen = Pressure(bench, options), list[Minute](), 0
    with ThreadPoolExecutor(2) as threads:
        try:
            assert pipe.recv() == "subscribed"
            calls = [threads.submit(pressure.enqueue), threads.submit(pressure.ask)]
            used = Usage.of(bench.server).cpu
            for number in range(1, options.minutes + 1):
                let_pass(60)
                now = Usage.of(bench.server)
                pipe.send("count")
                events, faults = pipe.recv()
                unfinished = bench.api.ask(UNFINISHED)
                minutes.append(Minute(now.rss / 2**20, pressure.times()))
                took = minutes[-1].took
                print(
                    f"minute {number:3}: {now.rss / 2**20:6.1f} MB, {(now.cpu - used) / 0.6:4.0f} % of a core;"
                    f" {len(took)} questions {milliseconds(took)}; {(sum(events) - seen) / 60:6.0f} events/s;"
                    f" {unfinished['runs']['totalCount']} unfinished; {load()}",
                    flush=True,
                )
                used, seen = now.cpu, sum(events)
                assert not faults, faults
        finally:
            pressure.end()
        for call in calls:
            call.result()
    pipe.send("leave")
    readers.join(30)
    first, last = minutes[min(1, len(minutes) - 1)], minutes[-1]
    print(f"{pressure.enqueued:,} runs; memory {first.rss:.1f} MB in the second minute, {last.rss:.1f} MB in the last")
    print(f"the last minute's questions: {milliseconds(last.took)}")
    print(f"of these {last.by_question()}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Soak."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--minutes", type=int, default=30)
    parser.add_argument("--runs", type=int, default=300, help="a second")
    parser.add_argument("--subscribers", type=int, default=10)
    parser.add_argument("--queries", type=float, default=5, help="a second")
    parser.add_argument("--keys", type=int, default=50, help="different jobs and tasks")
    options = parser.parse_args(arguments)
    for kind in options.database or DATABASES:
        print(f"{kind}; {load()}", flush=True)
        with serving(kind, options) as bench:
            soak(bench, options)


if __name__ == "__main__":
    main()
