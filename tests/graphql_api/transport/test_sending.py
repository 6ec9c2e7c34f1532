"""Sending within a bounded time, however many tasks send to one connection."""

import asyncio

import pytest
from starlette.types import Message

from cronograph.graphql.transport.websocket import BoundedSender, SlowReader


class Connection:
    """The receiving end; it takes messages while it is open."""

    def __init__(self) -> None:
        self.taken: list[Message] = []
        self.open = asyncio.Event()

    async def send(self, message: Message) -> None:
        await self.open.wait()
        self.taken.append(message)


def message(number: int) -> Message:
    return {"type": "message", "number": number}


async def test_every_message_that_waits_for_too_long_ends_as_slow_reader() -> None:
    connection = Connection()
    sender = BoundedSender(connection.send, 0.05)
    sending = [asyncio.create_task(sender.send(message(number))) for number in range(3)]
    outcomes = await asyncio.gather(*sending, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [SlowReader] * 3
    assert connection.taken == []


async def test_a_task_goes_on_after_its_reader_was_slow() -> None:
    connection = Connection()
    sender = BoundedSender(connection.send, 0.05)
    with pytest.raises(SlowReader):
        await sender.send(message(1))
    connection.open.set()
    await sender.send(message(2))
    assert connection.taken == [message(2)]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await asyncio.get_running_loop().create_future()


async def test_messages_of_later_are_watched_as_those_of_before() -> None:
    connection = Connection()
    sender = BoundedSender(connection.send, 0.05)
    for number in range(2):
        sending = asyncio.create_task(sender.send(message(number)))
        assert isinstance((await asyncio.gather(sending, return_exceptions=True))[0], SlowReader)


async def test_who_is_cancelled_from_outside_ends_cancelled() -> None:
    connection = Connection()
    sender = BoundedSender(connection.send, 60)
    sending = asyncio.create_task(sender.send(message(1)))
    await asyncio.sleep(0)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    connection.open.set()
    await sender.send(message(2))
    assert connection.taken == [message(2)]


async def test_messages_go_in_the_order_in_which_they_were_sent() -> None:
    connection = Connection()
    sender = BoundedSender(connection.send, 60)
    sending = [asyncio.create_task(sender.send(message(number))) for number in range(20)]
    await asyncio.sleep(0)
    connection.open.set()
    await asyncio.gather(*sending)
    assert connection.taken == [message(number) for number in range(20)]
