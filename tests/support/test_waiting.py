"""The waiting helper itself."""

from itertools import islice

import pytest

from tests.support.waiting import LONGEST_INTERVAL, POLL_INTERVAL, NeverHeldError, eventually, pauses_of, wait_until


async def test_eventually_returns_the_first_truthy_answer() -> None:
    answers = iter([0, 0, 7])
    assert await eventually(lambda: next(answers)) == 7


async def test_eventually_awaits_an_async_condition() -> None:
    answers = iter(["", "here"])

    async def condition() -> str:
        return next(answers)

    assert await eventually(condition) == "here"


async def test_eventually_says_what_was_awaited_and_what_came_instead() -> None:
    with pytest.raises(NeverHeldError, match=r"waited 0 s for: the moon; the last answer was 'cheese'") as caught:
        await eventually(lambda: Falsy("cheese"), within=0, message="the moon")
    assert isinstance(caught.value, AssertionError)


def test_wait_until_does_the_same_without_an_event_loop() -> None:
    answers = iter([None, "yes"])
    assert wait_until(lambda: next(answers)) == "yes"
    with pytest.raises(NeverHeldError):
        wait_until(lambda: False, within=0)


def test_looks_come_less_and_less_often_up_to_a_bound() -> None:
    pauses = list(islice(pauses_of(None), 30))
    assert (pauses[0], pauses[-1]) == (POLL_INTERVAL, LONGEST_INTERVAL)
    assert pauses == sorted(pauses)
    assert list(islice(pauses_of(0.2), 3)) == [0.2] * 3


class Falsy(str):
    """A string that counts as false with any text."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False
