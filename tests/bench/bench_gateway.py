"""Measures the GraphQL front door: CPU time of each kind of nonsense, and what one more subscriber costs.

Run it on a quiet machine, from the repository's root: `python -m tests.bench.bench_gateway`; `--help` lists the
options. It judges nothing; times are those of the whole application without the network, its client included.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial

import httpx

from cronograph.graphql.transport.sharing import SharePolicy
from tests.graphql_api.transport.nonsense import NONSENSE, document
from tests.graphql_api.transport.sample import Sample, sample_app
from tests.graphql_api.transport.test_sharing import LOG, POLICY, Hub, Reader
from tests.support.waiting import eventually

SUBSCRIBERS = (1, 10, 100)


async def cpu_milliseconds(sample: Sample, body: bytes) -> float:
    """The least CPU time of three requests with the same body, which no cache remembers if it is refused."""
    transport = httpx.ASGITransport(sample.app)
    best = float("inf")
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for _ in range(3):
            begin = time.process_time()
            await client.post("/graphql", content=body, headers={"content-type": "application/json"})
            best = min(best, time.process_time() - begin)
    return best * 1e3


async def microseconds_per_event(subscribers: int, policy: SharePolicy | None, events: int) -> float:
    """CPU time from one published event to its text in the hands of all subscribers."""
    hub = Hub.of(policy=policy)
    async with AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(Reader(hub.subscribe(LOG))) for _ in range(subscribers)]
        await eventually(lambda: hub.context.opened == (1 if policy else subscribers))
        begin = time.process_time()
        for number in range(events):
            hub.context.log.publish()
            await eventually(partial(all_have, readers, number + 1), interval=0)
        return (time.process_time() - begin) / events * 1e6


def all_have(readers: list[Reader], events: int) -> bool:
    """Return whether every reader has got so many events."""
    return all(len(reader.texts) >= events for reader in readers)


async def report(write: Callable[[str], object], events: int) -> None:
    """Writes both tables, a line at a time; the second is about so many ``events``."""
    sample = sample_app()
    write(f"{'CPU ms':>8}  request\n")
    write(f"{await cpu_milliseconds(sample, document('{ hello }')):8.2f}  (a good one)\n")
    costs = [(await cpu_milliseconds(sample, one.body), one) for one in NONSENSE]
    for cost, one in sorted(costs, key=lambda pair: -pair[0]):
        write(f"{cost:8.2f}  {one.name}: {one.code}\n")
    write(f"\n{'alone µs':>10} {'shared µs':>10}  an event for so many subscribers\n")
    for subscribers in SUBSCRIBERS:
        alone = await microseconds_per_event(subscribers, None, events)
        shared = await microseconds_per_event(subscribers, POLICY, events)
        write(f"{alone:10.0f} {shared:10.0f}  {subscribers}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200, help="that subscribers get")
    asyncio.run(report(sys.stdout.write, parser.parse_args(arguments).events))


if __name__ == "__main__":
    main()
