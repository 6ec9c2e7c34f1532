"""What webhooks cost, and what a dead receiver costs the others: 100 webhooks at 200 events a second.

Run it from the repository's root: ``python -m tests.bench.bench_webhooks``; ``--help`` lists the options. One node
reads and sends; the receivers are in this process, too. One of them takes connections and never answers. Each webhook
gets all events (``all``), or those of a job of its own (``own``). The delay of an event is the time from its record to
its receipt by a receiver that is well; events of about a second are one message.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from cronograph.graphql.resolving.context import LOCAL_ADMINISTRATOR, Context
from cronograph.graphql.schema import shared_schema
from cronograph.jobs.actions.nodes import NewNode, join
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.actor import Submitter
from cronograph.jobs.core.defaults import JobInfo
from cronograph.jobs.core.events import ENDED, Listed
from cronograph.jobs.delivery import webhooks
from cronograph.jobs.queue.base.changes import publish
from cronograph.jobs.runtime.base.wakeup import Wakeup
from cronograph.jobs.runtime.duties.alarms import AlarmSender
from cronograph.jobs.runtime.duties.webhooks import WebhookReader
from cronograph.jobs.runtime.live.bus import EventBus
from cronograph.jobs.runtime.live.feeds import LogFeed
from cronograph.jobs.runtime.process.kernel import memory_of_this_process
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx, Wake
from cronograph.server.installation import OwnApi
from tests.bench.measuring import DATABASES, fresh_database, load, percentile
from tests.builtin.http_server import Asked, answering, reply

DOCUMENT: Final = """subscription($job: String) {
  events(filter: { kinds: [EXECUTION_FINISHED, RUN_UPDATED], jobName: $job }) {
    at kind ... on ExecutionEvent { runId outcome } ... on RunEvent { runId runState }
  }
}"""
BATCHES: Final = 10
"""Transactions a second that record events."""
DEAD: Final = "/dead"


class Receivers:
    """Receivers in this process; that of ``DEAD`` never answers.

    Attributes:
        delays: Seconds from the record of each event to its receipt.
    """

    def __init__(self) -> None:
        self.delays: list[float] = []

    def answer(self, asked: Asked) -> bytes | None:
        """Take a message."""
        if asked.target == DEAD:
            return None
        now = datetime.now(UTC)
        results = [one["data"]["events"] for one in json.loads(asked.body)["data"]["events"]]
        self.delays += [(now - datetime.fromisoformat(one["at"])).total_seconds() for one in results]
        return reply(204)


class Bench:
    """A database with webhooks, and one node that reads and sends for them."""

    def __init__(self, url: str, port: int) -> None:
        self.database = Database(url)
        self._port = port
        services = Services(self.database, http_allow=("127.0.0.1",), subscriptions=OwnApi(shared_schema(), self._of))
        self.node = self.database.write_sync(
            join, NewNode("bench", 1, "1", (JobInfo("work"),), 3600.0), only_node=self.database.is_sqlite
        )
        self.parts = (
            WebhookReader(services, self.node.id, poll=5.0),
            AlarmSender(services, self.node.id, poll=5.0),
        )
        self.run_id = 0

    async def _of(self, _owner: Submitter | None, _place: str | None) -> Context:
        return Context(self.database, EventBus(self.database), LogFeed(self.database), LOCAL_ADMINISTRATOR)

    def fill(self, number: int, *, dead: bool, own: bool) -> None:
        """Create webhooks, the first of which has a dead receiver."""

        def create(tx: Tx) -> None:
            for one in range(number):
                path = DEAD if dead and not one else f"/{one}"
                variables = {"job": f"job-{one}"} if own else {}
                wanted = webhooks.new_webhook(
                    f"hook-{one}", f"http://127.0.0.1:{self._port}{path}", DOCUMENT, variables
                )
                webhooks.create_webhook(tx, wanted)

        self.database.write_sync(create)

    async def happen(self, events: int, jobs: int) -> None:
        """Record ends of runs in one transaction, two events each."""

        def record(tx: Tx) -> None:
            numbers = range(self.run_id, self.run_id + events // 2)
            rows = [(one + 1, one + 1, f"job-{one % jobs}", "default", None, None) for one in numbers]
            tx.emit([Listed(ENDED, rows, "bench")])
            tx.wake(Wake.EVENTS)

        await self.database.write(record)
        self.run_id += events // 2
        if not self.database.is_sqlite:
            # A server numbers events.
            await self.database.write(publish, 500)

    async def run(self, seconds: int, rate: int, jobs: int) -> float:
        """Let events happen for so many seconds; return the processor time that it took."""
        wakeup = Wakeup(self.database)
        for part in self.parts:
            wakeup.subscribe(part.on_wake)
            part.start()
        began, used = time.monotonic(), time.process_time()
        for step in range(seconds * BATCHES):
            await self.happen(rate // BATCHES, jobs)
            await asyncio.sleep(max(0.0, began + (step + 1) / BATCHES - time.monotonic()))
        return time.process_time() - used

    async def close(self) -> None:
        """End."""
        for part in self.parts:
            await part.stop()
        await self.database.close()


async def measure(url: str, number: int, rate: int, seconds: int, *, dead: bool, own: bool) -> str:
    """Return a line about one database."""
    receivers = Receivers()
    async with answering(receivers.answer) as server:
        bench = Bench(url, server.port)
        try:
            bench.fill(number, dead=dead, own=own)
            before = memory_of_this_process()
            spent = await bench.run(seconds, rate, number)
            grown = memory_of_this_process() - before
        finally:
            await bench.close()
    p50, p95 = percentile(receivers.delays, 0.5), percentile(receivers.delays, 0.95)
    results = len(receivers.delays)
    return (
        f"{number:4} webhooks  {rate:4} events/s  {'own' if own else 'all'}  {'1 dead' if dead else 'all well'}"
        f"  {results:8,} results  delay p50 {p50:5.2f} s  p95 {p95:5.2f} s  {100 * spent / seconds:5.1f} % of a core"
        f"  {grown / 2**20:+6.1f} MiB"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--webhooks", type=int, default=100)
    parser.add_argument("--rate", type=int, default=200, help="events a second")
    parser.add_argument("--seconds", type=int, default=30)
    chosen = parser.parse_args(arguments)
    print(load(), flush=True)
    for kind in chosen.database or DATABASES:
        for own in (True, False):
            for dead in (False, True):
                with fresh_database(kind) as url:
                    line = asyncio.run(measure(url, chosen.webhooks, chosen.rate, chosen.seconds, dead=dead, own=own))
                print(f"{kind:8} {line}", flush=True)


if __name__ == "__main__":
    main()
