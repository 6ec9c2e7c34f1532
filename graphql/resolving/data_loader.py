"""Reads by key of one operation, batched: what many rows ask for at once is asked for by one statement."""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

from strawberry.dataloader import DataLoader as StrawberryLoader
from typing_extensions import override

K = TypeVar("K")
M = TypeVar("M")

MAX_BATCH: Final = 1_000
"""Keys per statement."""


class DataLoader(StrawberryLoader[K, M]):
    """Batches reads by key, for resolvers that may be cancelled one by one.

    Who fails takes its sibling fields along: GraphQL cancels them. What such a field waits for others may wait for,
    too, in a part of the answer that goes on; they would be cancelled with it, and the operation with them.
    """

    @override
    def load(self, key: K) -> Awaitable[M]:
        """What is read by a key."""
        read = asyncio.ensure_future(super().load(key))
        # Siblings of a failed field are given up: nobody sees then why the read failed, and asyncio would complain.
        read.add_done_callback(_retrieve)
        return asyncio.shield(read)


def _retrieve(read: "asyncio.Future[Any]") -> None:
    if not read.cancelled():
        read.exception()
