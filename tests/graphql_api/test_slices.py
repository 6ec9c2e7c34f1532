"""Resolvers that compute in the event loop give way to others."""

import asyncio
import time

from cronograph.graphql.resolving.loaders import SLICE_SECONDS, Slices


def compute() -> None:
    """Use up what a slice has."""
    end = time.thread_time() + SLICE_SECONDS
    while time.thread_time() < end:
        pass


async def test_within_a_slice_nobody_waits() -> None:
    slices, done = Slices(), list[int]()

    async def resolver(number: int) -> None:
        await slices.turn()
        done.append(number)

    for number in range(3):
        turn = resolver(number)
        # Not even once: a coroutine that ends at its first step has waited for nothing.
        try:
            turn.send(None)
        except StopIteration:
            continue
        raise AssertionError("a resolver waited, though nobody had computed")
    assert done == [0, 1, 2]


async def test_many_that_compute_let_others_have_the_loop_in_between_and_keep_their_order() -> None:
    slices, done, looked = Slices(), list[int](), list[int]()

    async def resolver(number: int) -> None:
        await slices.turn()
        compute()
        done.append(number)

    async def other() -> None:
        while len(done) < 5:
            looked.append(len(done))
            await asyncio.sleep(0)

    await asyncio.gather(*(resolver(number) for number in range(5)), other())
    assert done == list(range(5))
    assert set(range(1, 5)) <= set(looked)


async def test_who_is_cancelled_while_it_waits_takes_no_turn() -> None:
    slices = Slices()
    compute()
    cancelled, other = (asyncio.create_task(slices.turn()) for _ in range(2))
    await asyncio.sleep(0)
    assert not cancelled.done()
    cancelled.cancel()
    await other
    assert cancelled.cancelled()
