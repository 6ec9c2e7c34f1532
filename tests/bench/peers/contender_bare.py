"""Bare statements: what the database does for a queue that keeps a row for each run and nothing else."""

import asyncio
import json
import sys
import time

import psycopg
import uvloop

from tests.bench.peers.tally import Tally, asked

BATCH = 200
TABLE = """
CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state text NOT NULL DEFAULT 'waiting',
    at timestamptz NOT NULL DEFAULT now(), started_at timestamptz, ended_at timestamptz);
CREATE INDEX bare_waiting ON bare (id) WHERE state = 'waiting'
"""
ENQUEUE = "INSERT INTO bare SELECT FROM generate_series(1, %s)"
CLAIM = """
UPDATE bare SET state = 'running', started_at = now() WHERE id = ANY(ARRAY(
    SELECT id FROM bare WHERE state = 'waiting' ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED)) RETURNING id
"""
END = "UPDATE bare SET state = 'success', ended_at = now() WHERE id = ANY(%s) AND state || '' = 'running'"


async def main(url: str, runs: int, _tally: Tally) -> dict[str, float]:
    """Seconds of enqueueing and of draining, and this process' seconds of processor time while it drains."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(TABLE)
        began = time.perf_counter()
        for first in range(0, runs, 1000):
            await connection.execute(ENQUEUE, (min(1000, runs - first),))
        enqueued = time.perf_counter() - began
        # Anyone who measures the server's processor time may look at it now.
        print("enqueued", flush=True)
        sys.stdin.readline()
        began, cpu = time.perf_counter(), time.process_time()
        while ids := [row[0] for row in await (await connection.execute(CLAIM, (BATCH,), binary=True)).fetchall()]:
            await asyncio.gather(*(_nothing() for _ in ids))
            await connection.execute(END, (ids,))
        drained, used = time.perf_counter() - began, time.process_time() - cpu
    return {"enqueue": enqueued, "drain": drained, "cpu": used}


async def _nothing() -> None:
    pass


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(main(*asked()))))
