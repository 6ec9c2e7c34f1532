"""Measures what sign-in costs: each request that shows a credential, and all others while passwords are guessed.

Run it on a quiet machine, from the repository's root: `python -m tests.bench.bench_signin`; `--help` lists the options.
It judges nothing; times are those of the whole application without the network.
"""

import argparse
import asyncio
import itertools
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from starlette.types import ASGIApp, Message

from cronograph.graphql.schema import create_schema
from cronograph.jobs.core.actor import Role
from cronograph.server.http.app import build_app
from tests.bench.large_log import Size, fill
from tests.bench.measuring import DATABASES, fresh_database, percentile
from tests.server.auth.serving import Protected, protected

SMALL = "{ viewer { name role } }"
LOGS = "{ jobLogs { id jobName startedAt completedAt success errorMessage recordsProcessed } }"
GUESSES = 20
"""Wrong passwords a second."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask: an application and the headers of a request."""

    name: str
    app: ASGIApp
    headers: tuple[tuple[str, str], ...] = ()


async def post(way: Way, path: str, body: object, address: str = "127.0.0.1") -> int:
    """One request; the status of its answer."""
    text = json.dumps(body).encode()
    headers = [("host", "localhost"), ("content-type", "application/json"), *way.headers]
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
        "client": (address, 1),
        "server": ("localhost", 80),
    }
    said: list[int] = []
    never = asyncio.Event()
    parts = iter([{"type": "http.request", "body": text, "more_body": False}])

    async def receive() -> Message:
        part = next(parts, None)
        if part is None:
            await never.wait()
        return part or {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            said.append(message["status"])

    await way.app(scope, receive, send)
    return said[0]


async def ways_of(server: Protected) -> list[Way]:
    """The same application without sign-in, by a session and by a token."""
    assert server.parts is not None, "the server runs"
    await server.account("ada", Role.VIEWER)
    await server.sign_in_as("ada")
    cookie = "; ".join(f"{name}={value}" for name, value in server.browser.cookies.items())
    token = await server.token("ada")
    guarded = build_app(server.parts)
    return [
        Way("without sign-in", build_app(replace(server.parts, sign_in=None))),
        Way("by a session", guarded, (("cookie", cookie),)),
        Way("by a token", guarded, (("authorization", f"Bearer {token}"),)),
    ]


async def cost(way: Way, document: str, requests: int) -> float:
    """Processor time of one request, in microseconds."""
    began = time.process_time()
    for _ in range(requests):
        assert await post(way, "/graphql", {"query": document}) == 200
    return (time.process_time() - began) / requests * 1e6


async def latencies(way: Way, seconds: float) -> list[float]:
    """Return how long `jobLogs` takes again and again."""
    found: list[float] = []
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        began = time.perf_counter()
        assert await post(way, "/graphql", {"query": LOGS}) == 200
        found.append(time.perf_counter() - began)
        await asyncio.sleep(0.005)
    return found


async def guess(way: Way, over: asyncio.Event) -> None:
    """Wrong passwords, each for another name and from another address, so that no pause holds them up."""
    async with asyncio.TaskGroup() as group:
        for number in itertools.count():
            if over.is_set():
                return
            body = {"name": f"somebody {number}", "password": "wrong"}
            address = f"10.{number // 65536 % 256}.{number // 256 % 256}.{number % 256}"
            group.create_task(post(way, "/auth/password", body, address))
            await asyncio.sleep(1 / GUESSES)


async def report(url: str, chosen: argparse.Namespace, write: Callable[[str], object]) -> None:
    """Writes the costs of each way and the latencies beside guesses."""
    fill(url, Size(chosen.executions, 50, datetime.now(UTC)))
    async with protected(url, create_schema()) as server:
        ways = await ways_of(server)
        for document, words in ((SMALL, "the smallest request"), (LOGS, "jobLogs, 100 rows")):
            best = [float("inf")] * len(ways)
            for _ in range(chosen.rounds):
                # By turns: what else the machine does meets all of them.
                costs = [await cost(way, document, chosen.requests) for way in ways]
                best = [min(pair) for pair in zip(best, costs, strict=True)]
            for way, microseconds in zip(ways, best, strict=True):
                write(f"{words}: {microseconds:8.0f} µs {way.name} ({microseconds / best[0]:.2f} ×)\n")
        quiet: list[float] = []
        beside: list[float] = []
        for _ in range(chosen.rounds):
            quiet += await latencies(ways[1], chosen.seconds)
            over = asyncio.Event()
            guesser = asyncio.create_task(guess(ways[1], over))
            beside += await latencies(ways[1], chosen.seconds)
            over.set()
            await guesser
        p95 = [percentile(values, 0.95) * 1e3 for values in (quiet, beside)]
        write(f"jobLogs p95: {p95[0]:.1f} ms quiet, {p95[1]:.1f} ms beside {GUESSES} wrong passwords a second ")
        write(f"({p95[1] / p95[0]:.2f} ×)\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--executions", type=int, default=20_000, help="in the log")
    parser.add_argument("--requests", type=int, default=200, help="of each kind in a round")
    parser.add_argument("--rounds", type=int, default=5, help="of which the best counts")
    parser.add_argument("--seconds", type=float, default=2.0, help="of reading, quiet and beside guesses, in a round")
    chosen = parser.parse_args(arguments)
    for kind in chosen.database or DATABASES:
        sys.stdout.write(f"{kind}\n")
        with fresh_database(kind) as url:
            asyncio.run(report(url, chosen, sys.stdout.write))


if __name__ == "__main__":
    main()
