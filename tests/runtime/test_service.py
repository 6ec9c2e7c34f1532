"""A part of the node ends when it is told to, and so does anyone who waits for that end."""

import asyncio

import pytest
from typing_extensions import override

from cronograph.jobs.runtime.base.service import Service, Watch
from tests.support.waiting import eventually


class Slow(Service):
    """A service whose end takes as long as a test says."""

    def __init__(self) -> None:
        super().__init__("slow")
        self.begun = 0
        self.ending = asyncio.Event()
        self.may_end = asyncio.Event()

    @override
    async def run(self) -> None:
        self.begun += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.ending.set()
            await self.may_end.wait()


async def begun(service: Slow) -> Slow:
    service.start()
    await eventually(lambda: service.begun == 1)
    return service


async def test_who_is_cancelled_while_it_ends_a_part_ends_too() -> None:
    slow = await begun(Slow())
    went_on = False

    async def end_and_go_on() -> None:
        nonlocal went_on
        await slow.stop()
        went_on = True

    caller = asyncio.ensure_future(end_and_go_on())
    await slow.ending.wait()
    caller.cancel()
    # The part's own end and the caller's cancel may come in the same turn of the loop.
    slow.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert not went_on


async def test_who_asks_again_waits_for_the_end_as_well() -> None:
    slow = await begun(Slow())
    first = asyncio.ensure_future(slow.stop())
    await slow.ending.wait()
    second = asyncio.ensure_future(slow.stop())
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not second.done()
    slow.may_end.set()
    await second
    await slow.stop()


async def test_what_was_asked_to_end_begins_again_while_it_still_ends() -> None:
    slow = await begun(Slow())
    stopping = asyncio.ensure_future(slow.stop())
    await slow.ending.wait()
    slow.start()
    await eventually(lambda: slow.begun == 2)
    slow.may_end.set()
    await stopping
    slow.may_end.clear()
    slow.ending.clear()
    again = asyncio.ensure_future(slow.stop())
    await slow.ending.wait()
    slow.may_end.set()
    await again


class Failing(Service):
    """A service with a part that fails when a test says so or it is cancelled: its connection is gone."""

    def __init__(self) -> None:
        super().__init__("failing")
        self.begun = 0
        self.fails = asyncio.Event()

    @override
    async def run(self) -> None:
        self.begun += 1
        async with asyncio.TaskGroup() as group:
            group.create_task(self._part())

    async def _part(self) -> None:
        try:
            await self.fails.wait()
        finally:
            self.fails.clear()
            raise ConnectionError("the line is cut")


async def test_what_fails_as_it_is_asked_to_end_does_not_begin_again(caplog: pytest.LogCaptureFixture) -> None:
    failing = Failing()
    failing.start()
    await eventually(lambda: failing.begun == 1)
    await failing.stop()
    assert failing.begun == 1
    assert [record.message.partition(":")[0] for record in caplog.records] == ["failing failed while it ended"]


async def test_what_has_failed_and_begun_again_ends_when_it_is_asked_to() -> None:
    # On Python 3.11 a group whose task fails leaves its own task marked as cancelled.
    failing = Failing()
    failing.start()
    await eventually(lambda: failing.begun == 1)
    failing.fails.set()
    await eventually(lambda: failing.begun == 2)
    await failing.stop()
    assert failing.begun == 2


class Counting(Watch):
    """Counts how often it looks."""

    def __init__(self, first_after: float) -> None:
        super().__init__("counting")
        self.first_after = first_after
        self.looks = 0

    @override
    async def look(self) -> None:
        self.looks += 1


async def test_a_watch_looks_first_after_its_time_or_a_hint() -> None:
    soon, late = Counting(0.01), Counting(3600.0)
    soon.start()
    late.start()
    await eventually(lambda: soon.looks == 1)
    assert late.looks == 0
    late.poke()
    await eventually(lambda: late.looks == 1)
    await soon.stop()
    await late.stop()
