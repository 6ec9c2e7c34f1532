"""Ends are stored whenever they come, also in the moment in which the finisher has just looked for the last time."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from cronograph.jobs.base.services import Services
from cronograph.jobs.core.outcome import Succeeded
from cronograph.jobs.queue.finish import Finish
from cronograph.jobs.runtime.attempts.finisher import Finisher
from cronograph.jobs.store.db.database import Database
from tests.support.storage import Stored
from tests.support.waiting import eventually


@pytest.fixture
async def ends(stored: Stored) -> list[Finish]:
    """The ends of two runs that execute."""
    worker = stored.node("w")
    for _ in range(2):
        stored.enqueue()
    begun = [worker.start() for _ in range(2)]
    return [Finish(one.run, one.execution_id, Succeeded()) for one in begun]


class Finishing:
    """A finisher, what it has stored, and an end that comes so many turns of the loop after its first."""

    def __init__(self, database: Database, turns: int) -> None:
        self.finisher = Finisher(Services(database), self._stored, self._written, self._died)
        self.stored: list[int] = []
        self.writes = 0
        self.later: Finish | None = None
        self.within = 0.0
        self._turns = turns

    def _stored(self, end: Finish, accepted: bool) -> None:
        assert accepted
        self.stored.append(end.run.id)

    def _written(self) -> None:
        self.writes += 1
        self._submit_in(self._turns)

    def _submit_in(self, turns: int) -> None:
        if turns > 0:
            asyncio.get_running_loop().call_soon(self._submit_in, turns - 1)
        elif self.later is not None:
            later, self.later = self.later, None
            self.finisher.submit(later, self.within)

    def _died(self, _lost: object) -> None:
        pytest.fail("the finisher died")


@pytest.fixture(params=range(5), ids=lambda turns: f"{turns} turns later")
async def finishing(request: pytest.FixtureRequest, database: Database) -> AsyncIterator[Finishing]:
    found = Finishing(database, request.param)
    yield found
    await found.finisher.close()


async def test_an_end_that_comes_while_the_writer_leaves_is_stored(finishing: Finishing, ends: list[Finish]) -> None:
    first, finishing.later = ends
    finishing.finisher.submit(first)
    await eventually(lambda: finishing.stored == [end.run.id for end in ends])


@pytest.fixture
async def gathering(database: Database) -> AsyncIterator[Finishing]:
    found = Finishing(database, turns=0)
    yield found
    await found.finisher.close()


LONG = 3600.0
"""Seconds that no test lasts."""


async def test_ends_that_may_wait_are_stored_with_the_first_one_that_may_not(
    gathering: Finishing, ends: list[Finish]
) -> None:
    gathering.finisher.submit(ends[0], LONG)
    assert gathering.stored == []
    gathering.finisher.submit(ends[1])
    await eventually(lambda: gathering.stored == [end.run.id for end in ends])
    assert gathering.writes == 1


async def test_ends_that_may_wait_are_stored_together_when_the_first_has_waited(
    gathering: Finishing, ends: list[Finish]
) -> None:
    gathering.finisher.submit(ends[0], 0.001)
    gathering.finisher.submit(ends[1], LONG)
    await eventually(lambda: gathering.stored == [end.run.id for end in ends])
    assert gathering.writes == 1


async def test_an_end_that_may_wait_keeps_none_waiting_that_may_not(gathering: Finishing, ends: list[Finish]) -> None:
    gathering.finisher.submit(ends[0])
    gathering.finisher.submit(ends[1], LONG)
    await eventually(lambda: gathering.stored == [end.run.id for end in ends])


async def test_an_end_that_may_wait_is_stored_at_once_when_its_node_takes_no_more(
    finishing: Finishing, ends: list[Finish]
) -> None:
    first, finishing.later = ends
    finishing.within = LONG
    finishing.finisher.submit(first)
    await eventually(lambda: finishing.later is None)
    finishing.finisher.reclaim()
    await eventually(lambda: finishing.stored == [end.run.id for end in ends])


async def test_who_takes_ends_along_is_called_once_for_those_that_may_wait(
    gathering: Finishing, ends: list[Finish]
) -> None:
    calls: list[int] = []
    gathering.finisher.lend(lambda: calls.append(1))
    gathering.finisher.submit(ends[0], LONG)
    assert calls == []
    gathering.finisher.submit(ends[1])
    assert calls == [1]
    assert gathering.finisher.take() == list(ends)


async def test_a_node_ends_whose_own_books_fail(database: Database, ends: list[Finish]) -> None:
    died: list[Sequence[Finish]] = []

    def fail(_end: Finish, _accepted: bool) -> None:
        raise RuntimeError("the node's own books are wrong")

    finisher = Finisher(Services(database), fail, lambda: None, died.append)
    for end in ends:
        finisher.submit(end)
    # Their ends are stored all the same.
    await eventually(lambda: died == [[]])
    await finisher.close()
