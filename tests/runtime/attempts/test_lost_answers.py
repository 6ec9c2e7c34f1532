"""The database does what it is asked and the answer is lost or late: nothing stays running that nobody runs.

And nothing waits that came meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest
from typing_extensions import override

from cronograph.jobs.base.services import Services
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.claims.lane import claim_groups, claim_lane
from cronograph.jobs.queue.turn import turn
from cronograph.jobs.registry import Registry, define
from cronograph.jobs.runtime.attempts.capacity import PAUSE
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import AutocommitConnection, Database, OperationalError
from cronograph.jobs.store.db.transaction import Tx, Wake
from tests.support.engines import QUICK, RunningEngine
from tests.support.waiting import eventually

P = ParamSpec("P")
T = TypeVar("T")

ALERT = replace(QUICK, heartbeat=1.0, lease=8.0)
"""A node that looks for what it does not know every second, and whose lease a busy machine keeps."""

AN_HOUR = 3600.0


class UnreliableLine(Database):
    """A real database whose answers to some transactions are lost, or come late, after the commit."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.lose: dict[Callable[..., Any], int] = {}
        self.delayed: Callable[..., Any] | None = None
        self.delays_nothing = False
        self.committed = asyncio.Event()
        self.deliver = asyncio.Event()

    @override
    async def write(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._deliver(function, await super().write(function, *args, **kwargs))

    @override
    async def on_connection(
        self,
        function: Callable[Concatenate[AutocommitConnection, P], Awaitable[tuple[T, Wake]]],
        connection: AutocommitConnection,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        return await self._deliver(function, await super().on_connection(function, connection, *args, **kwargs))

    async def _deliver(self, function: Callable[..., Any], result: T) -> T:
        function = turn if function in (claim_lane, claim_groups) else function
        if self.lose.get(function) and _brought_something(result):
            self.lose[function] -= 1
            raise OperationalError("COMMIT", None, ConnectionError("the line is cut"))
        if function is self.delayed and _brought_something(result) is not self.delays_nothing:
            self.committed.set()
            await self.deliver.wait()
        return result


def _brought_something(result: Any) -> bool:
    """Return whether a claim took runs; one that found nothing loses nothing."""
    started = getattr(result, "started", result)
    return bool(started) or bool(getattr(result, "reserved", ()))


async def _work() -> int:
    return 1


def registry() -> Registry:
    jobs = Registry()
    jobs.add(define("work", _work))
    return jobs


@pytest.fixture
async def line(database_url: str) -> AsyncIterator[UnreliableLine]:
    database = UnreliableLine(database_url)
    yield database
    await database.close()


@pytest.fixture
async def engine(line: UnreliableLine) -> AsyncIterator[RunningEngine]:
    made = Engine(Services(line), registry(), ALERT)
    await made.start()
    yield RunningEngine(made, line)
    line.deliver.set()
    await made.stop()


async def test_a_run_whose_claim_was_never_answered_is_closed_and_tried_again(
    line: UnreliableLine, engine: RunningEngine
) -> None:
    line.lose[turn] = 1
    run_id = await engine.enqueue("work", retries=2)
    done = await engine.finished(run_id)
    lost, again = done.executions
    assert (lost.outcome, lost.error_type) == (Outcome.LOST, "ClaimLost")
    assert lost.error_message == (
        "node test-node held this run and did not execute it: an answer of the database was lost"
    )
    assert (again.outcome, done.run.state, done.run.failures) == (Outcome.SUCCESS, RunState.SUCCESS, 1)


@pytest.mark.costly
@pytest.mark.postgres
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_a_reservation_whose_start_was_never_answered_is_given_back(line: UnreliableLine) -> None:
    made = Engine(Services(line), registry(), replace(ALERT, slots=1, prefetch=3))
    await made.start()
    engine = RunningEngine(made, line)
    line.lose[turn] = 1
    ids = [await engine.enqueue("work", retries=2) for _ in range(6)]
    states = [(await engine.run_until_finished(run_id)).state for run_id in ids]
    assert set(states) == {RunState.SUCCESS}
    await made.stop()


async def test_a_claim_that_is_answered_during_the_stop_still_runs_its_runs_to_the_end(
    line: UnreliableLine, engine: RunningEngine
) -> None:
    line.delayed = turn
    run_id = await engine.enqueue("work")
    await line.committed.wait()
    draining = asyncio.ensure_future(engine.engine.drain())
    await eventually(lambda: not engine.engine.ready)
    line.deliver.set()
    await draining
    run = await engine.run(run_id)
    assert run.state is RunState.SUCCESS


async def test_a_run_that_comes_while_a_claim_is_under_way_begins_though_that_claim_brings_nothing(
    line: UnreliableLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody looks by time alone: what is missed here is never found.
    call_later = asyncio.BaseEventLoop.call_later

    def without_looks(loop: asyncio.BaseEventLoop, delay: float, *call: Any, **context: Any) -> asyncio.TimerHandle:
        is_a_look = PAUSE <= delay < PAUSE + 0.01
        return call_later(loop, AN_HOUR if is_a_look else delay, *call, **context)

    monkeypatch.setattr(asyncio.BaseEventLoop, "call_later", without_looks)
    made = Engine(Services(line), registry(), replace(QUICK, poll=AN_HOUR))
    await made.start()
    engine = RunningEngine(made, line)
    assert (await engine.finished(await engine.enqueue("work"))).run.state is RunState.SUCCESS
    line.delayed, line.delays_nothing = turn, True
    await line.write(lambda tx: tx.wake(Wake.RUNS))
    await line.committed.wait()
    run_id = await engine.enqueue("work")
    line.delayed = None
    line.deliver.set()
    assert (await engine.finished(run_id)).run.state is RunState.SUCCESS
    await made.stop()
