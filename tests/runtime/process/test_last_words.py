"""What a child has said before its exit is heard, however late its node listens; what it left behind keeps nobody."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from cronograph.jobs.runtime.process import spawner as spawners
from cronograph.jobs.runtime.process.spawner import Child, Spawner
from cronograph.jobs.runtime.process.wire import Progress, frame

MESSAGE = Progress(done=1, total=None, message="x" * 10_000)
NUMBER = 30
"""So many are more than a reader keeps, and a part stays with the kernel; both together hold all."""


class Wire:
    """A child's connection, whose end at the child is the test's."""

    def __init__(self) -> None:
        self.ours, self.childs = socket.socketpair()
        # Linux doubles it, and counts what a byte costs it.
        self.childs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * NUMBER * len(frame(MESSAGE)))
        self.exited: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    async def child(self) -> Child:
        """The child as its node knows it."""
        return await Child.connect(Spawner(), 1, self.exited, self.ours)


@pytest.fixture
async def wire(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    """A connection; a child that has exited is given no time at all."""
    monkeypatch.setattr(spawners, "_LAST_WORDS", 0.0)
    made = Wire()
    with closing(made.childs):
        yield made


async def turns(number: int) -> None:
    """The loop goes round so many times."""
    for _ in range(number):
        await asyncio.sleep(0)


async def test_a_node_that_listens_late_hears_all_that_was_said(wire: Wire) -> None:
    child = await wire.child()
    wire.childs.sendall(frame(MESSAGE) * NUMBER)
    wire.childs.close()
    wire.exited.set_result(0)
    await turns(20)
    assert [await child.receive() for _ in range(NUMBER)] == [MESSAGE] * NUMBER
    assert await child.receive() is None
    await child.close(0.0)


async def test_a_node_that_is_busy_between_two_messages_hears_all_that_was_said(wire: Wire) -> None:
    child = await wire.child()
    wire.childs.sendall(frame(MESSAGE) * NUMBER)
    wire.exited.set_result(0)
    for _ in range(NUMBER):
        await turns(5)
        assert await child.receive() == MESSAGE
    await child.close(0.0)


async def test_nobody_waits_for_what_an_exited_child_left_behind(wire: Wire) -> None:
    child = await wire.child()
    half = frame(MESSAGE) + frame(MESSAGE)[:100]
    wire.childs.sendall(half)
    wire.exited.set_result(0)
    assert await child.receive() == MESSAGE
    assert await child.receive() is None
    await child.close(0.0)
