"""Steps on the event loop are timed one by one."""

import asyncio
from typing import Any

import pytest

from cronograph.graphql.guard.metered import Meter


class Clock:
    """A clock that only the steps themselves move on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.charged = 0.0

    def charge(self, began: float, ended: float) -> None:
        self.charged += ended - began

    @property
    def meter(self) -> Meter:
        return Meter(self.charge, lambda: self.now)


async def working(clock: Clock, steps: int, result: object = None) -> Any:
    for _ in range(steps):
        clock.now += 1
        await asyncio.sleep(0)
    clock.now += 1
    if isinstance(result, Exception):
        raise result
    return result


async def test_only_ones_own_steps_count_beside_others() -> None:
    clock = Clock()
    found = await asyncio.gather(clock.meter.of(working(clock, 3, "ours")), working(clock, 50))
    assert found == ["ours", None]
    assert clock.charged == 4


async def test_steps_within_steps_count_once_and_tasks_of_their_own_count_too() -> None:
    clock = Clock()
    meter = clock.meter

    async def outer() -> None:
        await meter.of(working(clock, 2))
        await asyncio.gather(meter.of(working(clock, 3)), asyncio.create_task(meter.of(working(clock, 4))))

    await meter.of(outer())
    assert clock.charged == 3 + 4 + 5


async def test_an_error_passes_and_is_charged() -> None:
    clock = Clock()
    with pytest.raises(LookupError):
        await clock.meter.of(working(clock, 1, LookupError()))
    assert clock.charged == 2


async def test_a_cancellation_reaches_what_is_timed() -> None:
    clock = Clock()
    ended = asyncio.Event()

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            clock.now += 1
            ended.set()

    task: asyncio.Task[None] = asyncio.create_task(clock.meter.of(waits()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
    assert clock.charged == 1


async def test_a_future_can_be_timed_as_well() -> None:
    clock = Clock()
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, 5)
    assert await clock.meter.of(future) == 5


async def test_what_is_closed_before_its_end_is_closed_within() -> None:
    clock = Clock()
    inner = working(clock, 1)
    timed = clock.meter.of(inner)
    timed.send(None)
    timed.close()
    assert inner.cr_frame is None  # type: ignore[attr-defined] # a coroutine, of which the annotation says less
