"""The execution log keeps in which trace an attempt was told of, whichever statement writes its end."""

import asyncio
from dataclasses import replace

from cronograph.jobs.core.model import Execution
from cronograph.jobs.core.outcome import Failed, JobOutcome, Snoozed, Succeeded
from cronograph.jobs.queue.finish import Finish, finish, store
from cronograph.jobs.store.statements import executions
from tests.support.storage import Stored

TRACE = "0af7651916cd43dd8448eb211c80319c"
ENDS: tuple[tuple[JobOutcome, str | None], ...] = (
    (Succeeded(), TRACE),
    (Succeeded(7), TRACE),
    (Succeeded(7), None),
    (Succeeded(value={"a": 1}), TRACE),
    (Succeeded(value={"a": 1}), None),
    (Failed("ValueError", "no"), TRACE),
    (Snoozed(5), TRACE),
    (Snoozed(5), None),
)


def begun(stored: Stored) -> tuple[tuple[int, str], list[Finish]]:
    """As many attempts under way as there are ends, and these ends."""
    worker = stored.node()
    for _ in ENDS:
        stored.enqueue()
    started = worker.take(len(ENDS)).started
    ends = [
        Finish(one.run, one.execution_id, outcome, trace_id=trace)
        for one, (outcome, trace) in zip(started, ENDS, strict=True)
    ]
    return (worker.node.id, worker.node.name), ends


def kept(stored: Stored, ends: list[Finish]) -> list[tuple[str | None, int | None]]:
    ids = [one.execution_id for one in ends]
    found: dict[int, Execution] = stored.do(lambda tx: executions.by_ids(tx.conn, ids))
    return [(found[one].trace_id, found[one].records_processed) for one in ids]


EXPECTED = [(trace, getattr(outcome, "records_processed", None)) for outcome, trace in ENDS]


def test_ends_in_one_transaction(stored: Stored) -> None:
    node, ends = begun(stored)
    assert kept(stored, ends) == [(None, None)] * len(ENDS)
    assert len(stored.do(finish, *node, ends).accepted) == len(ENDS)
    assert kept(stored, ends) == EXPECTED


async def test_ends_by_the_statement_of_common_ones(stored: Stored) -> None:
    _, ends = await asyncio.to_thread(begun, stored)
    connection = stored.database.autocommit_connection()
    accepted = [done async for _, done in store(stored.database, connection, ends)]
    assert sum(len(one.accepted) for one in accepted) == len(ENDS)
    if connection is not None:
        await connection.close()
    assert await asyncio.to_thread(kept, stored, ends) == EXPECTED


async def test_a_batch_of_which_none_is_traced(stored: Stored) -> None:
    _, ends = await asyncio.to_thread(begun, stored)
    ends = [replace(one, trace_id=None) for one in ends]
    connection = stored.database.autocommit_connection()
    async for _ in store(stored.database, connection, ends):
        pass
    if connection is not None:
        await connection.close()
    assert {trace for trace, _ in await asyncio.to_thread(kept, stored, ends)} == {None}
