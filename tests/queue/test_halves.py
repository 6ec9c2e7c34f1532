"""A node whose claims are full takes half of its slots at once: the ends of the other half are stored meanwhile."""

from collections.abc import AsyncIterator

import pytest

from cronograph.jobs.queue.claims.fairness import FairnessState
from cronograph.jobs.queue.turn import NodeQueue, Order
from cronograph.jobs.store.db.database import Database
from tests.support.storage import Stored, Worker

SLOTS, HALF = 6, 3


class Node:
    """A node that claims runs of two groups."""

    def __init__(self, stored: Stored, worker: Worker) -> None:
        self.stored, self.worker = stored, worker
        self.database = Database(stored.database.url)
        self.queue = NodeQueue(self.database, at_once=HALF)

    def put(self, count: int) -> None:
        """Put so many runs into each of the two groups."""
        for group in ("a", "b") * count:
            self.stored.enqueue(group=group)

    async def take(self) -> int:
        """Return how many runs a turn for all slots starts."""
        return len((await self.queue.take(self.worker.claimant, FairnessState(), Order([], [], SLOTS, 0))).started)


@pytest.fixture
async def node(stored: Stored) -> AsyncIterator[Node]:
    made = Node(stored, stored.node(jobs=("work",)))
    yield made
    await made.queue.close()
    await made.database.close()


async def test_where_claims_are_full_the_next_one_takes_a_half_unless_ends_share_its_transaction(node: Node) -> None:
    node.put(9)
    first, second = await node.take(), await node.take()
    assert (first, second) == (SLOTS, SLOTS if node.queue.shares_turns else HALF)


async def test_after_a_claim_that_left_slots_free_all_are_taken_at_once(node: Node) -> None:
    node.put(2)
    assert await node.take() == 4
    node.put(5)
    assert await node.take() == SLOTS
