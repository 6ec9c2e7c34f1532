"""How long a claim takes while very much waits, and how fast a queue is drained beside a large log.

A million runs wait in one group, in a thousand groups, or are of a job that nobody knows. The log has 5 million
executions.

Run it from the repository's root: ``python -m tests.bench.bench_scale``; ``--help`` lists the options. It judges
nothing. Each claim is made as a node makes it, with its events, by a node of its own in this process; what it began is
ended before the next, apart from the measured time.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import uvloop

from cronograph.jobs import job
from cronograph.jobs.actions.nodes import set_state
from cronograph.jobs.actions.runs import put
from cronograph.jobs.base.services import Services
from cronograph.jobs.core.model import NewRun, Trigger
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import Succeeded
from cronograph.jobs.queue.claims.claim import Claimant, Started, claim
from cronograph.jobs.queue.claims.fairness import FairnessState
from cronograph.jobs.queue.claims.lane import claim_lane
from cronograph.jobs.queue.finish import Finish, finish
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.runtime.node import register
from cronograph.jobs.store.db.database import AutocommitConnection, Database, parse_url, sync_engine
from cronograph.jobs.store.schema.tables import run
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.jobs.store.statements.figures.hours import KEPT_FOR
from tests.bench.measuring import DATABASES, cpu_seconds, fresh_database, load, milliseconds
from tests.support.history import count_log
from tests.support.waiting import eventually

CHUNK = 5_000
"""Runs that one transaction of the benchmark inserts."""

_COPIED = ", ".join(one.name for one in run.columns if one.name not in ("id", "group_name"))
_NUMBERS = {
    "sqlite": "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < :runs)",
    "postgres": "WITH s(n) AS (SELECT generate_series(1, CAST(:runs AS int)))",
}


def fill(url: str, kind: str, runs: int, groups: int) -> None:
    """Copies of the first run, spread over so many groups, and statistics as an operator's table has them."""
    statement = f"""
        {_NUMBERS[kind]} INSERT INTO cronograph.run ({_COPIED}, group_name)
        SELECT {_COPIED}, 'group-' || (s.n % :groups) FROM cronograph.run r, s WHERE r.id = 1"""
    engine = sync_engine(parse_url(url))
    with engine.begin() as conn:
        # A fill takes longer than any statement of the product may.
        if kind == "postgres":
            conn.execute(SchemaText("SET LOCAL statement_timeout = 0"))
        conn.execute(SchemaText(statement), {"runs": runs, "groups": groups})
        conn.execute(SchemaText("ANALYZE cronograph.run"))
    engine.dispose()


def fill_log(url: str, kind: str, executions: int, hourly: int = 36_000) -> None:
    """So many executions that succeeded, one of each run, evenly until now."""
    ended = "submitted_at, available_at, started_at, finished_at"
    moment = (
        "to_timestamp(extract(epoch FROM now()) - (CAST(:runs AS int) - s.n) * 3600.0 / CAST(:hourly AS int))"
        if kind == "postgres"
        else "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '-' || ((:runs - s.n) * 3600.0 / :hourly) || ' seconds')"
    )
    runs = f"""
        {_NUMBERS[kind]} INSERT INTO cronograph.run (job_name, args, group_name, priority, state, trigger, {ended},
            attempt, done_attempt, failures, retries, retry_delay, exclusive, description)
        SELECT 'known', '{{}}', 'default', 'high', 'success', 'api', at, at, at, at, 1, 1, 0, 2, 60, false, ''
        FROM (SELECT {moment} AS at FROM s) m"""
    log = """
        INSERT INTO cronograph.job_execution (job_name, started_at, completed_at, success, outcome, run_id, attempt,
            node_id, node, trigger, submitted_at, log_lines, log_cut)
        SELECT job_name, started_at, finished_at, true, 'success', id, 1, 1, 'bench', 'api', submitted_at, 0, 0
        FROM cronograph.run WHERE state = 'success'"""
    engine = sync_engine(parse_url(url))
    for statement in (runs, log):
        with engine.begin() as conn:
            if kind == "postgres":
                conn.execute(SchemaText("SET LOCAL statement_timeout = 0"))
            conn.execute(SchemaText(statement), {"runs": executions, "hourly": hourly})
    with engine.begin() as conn:
        count_log(conn, datetime.now(UTC) - KEPT_FOR)
        conn.execute(SchemaText("ANALYZE"))
    engine.dispose()


async def drain(url: str, kind: str, executions: int, runs: int) -> str:
    """Return how fast a node executes ``runs`` that wait while the log has so many executions."""
    if executions:
        await asyncio.to_thread(fill_log, url, kind, executions)
    registry = Registry()
    count = 0

    @job("known", registry=registry)
    async def known() -> None:
        nonlocal count
        count += 1

    database = Database(url)
    for first in range(0, runs, CHUNK):
        await database.write(put, [NewRun("known", Trigger.API)] * min(CHUNK, runs - first))
    engine = Engine(Services(database), registry, EngineSettings())
    await engine.start()
    await eventually(lambda: count > 0, within=60)
    done, began, cpu = count, time.perf_counter(), cpu_seconds()
    await eventually(lambda: count >= runs, within=600)
    took, cpu = time.perf_counter() - began, cpu_seconds() - cpu
    await engine.stop()
    await database.close()
    return f"{(runs - done) / took:8.0f} runs/s, {cpu / max(1, runs - done) * 1e6:5.0f} µs of the node a run"


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits: so many runs of a job, spread over so many groups."""

    job: str
    runs: int
    groups: int


async def claims(url: str, kind: str, waiting: Waiting, times: int, slots: int) -> str:
    """Return how long claims take while that waits; a run of ``known`` comes before each."""
    registry = Registry()

    @job("known", registry=registry)
    async def known() -> None:
        pass

    database = Database(url)
    node = await register(database, registry, EngineSettings())
    await database.write(set_state, node, NodeState.ACTIVE, {NodeState.STARTING})
    await database.write(put, [NewRun(waiting.job, Trigger.API)])
    await asyncio.to_thread(fill, url, kind, waiting.runs, waiting.groups)
    claimant, fairness = Claimant(node.id, node.name, ("known",)), FairnessState()
    connection = database.autocommit_connection()
    took: list[float] = []
    begun = 0
    for _ in range(times):
        await database.write(put, [NewRun("known", Trigger.API, group="group-1")])
        began = time.perf_counter()
        started, fairness = await _claim(database, connection, claimant, fairness, slots)
        took.append(time.perf_counter() - began)
        begun += len(started)
        ended = [Finish(one.run, one.execution_id, Succeeded()) for one in started]
        await database.write(finish, node.id, node.name, ended)
    if connection is not None:
        await connection.close()
    await database.close()
    return f"{begun / times:5.1f} runs a claim: {milliseconds(took)}"


async def _claim(
    database: Database, connection: AutocommitConnection | None, claimant: Claimant, fairness: FairnessState, slots: int
) -> tuple[Sequence[Started], FairnessState]:
    """The common case where it applies, else the general one."""
    if connection is not None:
        lane = await database.on_connection(claim_lane, connection, claimant, fairness, slots=slots)
        if lane.served:
            return lane.started, lane.fairness
    claimed = await database.write(claim, claimant, fairness, slots=slots)
    return claimed.started, claimed.fairness


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--runs", type=int, default=1_000_000, help="that wait")
    parser.add_argument("--groups", type=int, default=1_000, help="in which they wait")
    parser.add_argument("--unknown", type=int, default=50_000, help="waiting runs of a job that the node does not know")
    parser.add_argument("--executions", type=int, default=5_000_000, help="in the log while a queue is drained")
    parser.add_argument("--drained", type=int, default=50_000, help="runs that are drained beside the log")
    parser.add_argument("--part", choices=("claims", "drain"), action="append", help="both unless given")
    parser.add_argument("--times", type=int, default=200, help="claims of each kind")
    parser.add_argument("--slots", type=int, default=20, help="runs that a claim may begin")
    chosen = parser.parse_args(arguments)
    print(load())
    parts = {
        "nothing else": Waiting("known", 0, 1),
        f"{chosen.runs:,} in one group": Waiting("known", chosen.runs, 1),
        f"{chosen.runs:,} in {chosen.groups:,} groups": Waiting("known", chosen.runs, chosen.groups),
        f"{chosen.unknown:,} of an unknown job": Waiting("unknown", chosen.unknown, 2),
    }
    for kind in chosen.database or DATABASES:
        for name, waiting in parts.items() if "claims" in (chosen.part or ("claims",)) else ():
            with fresh_database(kind) as url, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                found = runner.run(claims(url, kind, waiting, chosen.times, chosen.slots))
            print(f"{kind:8} {name:30} {found}", flush=True)
        for executions in (0, chosen.executions) if "drain" in (chosen.part or ("drain",)) else ():
            with fresh_database(kind) as url, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                found = runner.run(drain(url, kind, executions, chosen.drained))
            print(f"{kind:8} {f'drain, {executions:,} in the log':30} {found}", flush=True)


if __name__ == "__main__":
    main()
