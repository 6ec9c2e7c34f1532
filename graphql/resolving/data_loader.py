"""Reads by key of one operation, batched: one statement reads the keys of many rows."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from strawberry.dataloader import DataLoader as StrawberryLoader
from typing_extensions import override

from ...jobs.core.base.errors import UnreadableRow
from ...jobs.store.db.database import Connection, Database
from ...jobs.store.statements.listing import pages
from ...jobs.store.statements.listing.criteria import Criteria
from ...jobs.store.statements.listing.keyset import Page, PageRequest
from ...jobs.store.statements.listing.listing import Listing
from ..guard.searches import Searches

K = TypeVar("K")
M = TypeVar("M")
N = TypeVar("N")

MAX_BATCH: Final = 1_000
"""Keys per statement."""


class DataLoader(StrawberryLoader[K, M]):
    """Batches reads by key, for resolvers that may be cancelled one by one.

    Who fails takes its sibling fields along: GraphQL cancels them. Other fields may wait for the same read,
    in a part of the answer that goes on; they would be cancelled with it, and the operation with them.
    """

    @override
    def load(self, key: K) -> Awaitable[M]:
        read = asyncio.ensure_future(super().load(key))
        # Siblings of a failed field are given up: nobody sees then why the read failed, and asyncio would complain.
        read.add_done_callback(_retrieve)
        return asyncio.shield(read)


def by_key(
    database: Database, read: Callable[[Connection, list[K]], Mapping[K, M]], *, missing: N
) -> DataLoader[K, M | N]:
    """Return a loader that gives the result of ``read`` for each key, and ``missing`` where there is none.

    A row that cannot be read fails its own key alone.
    """

    def one_by_one(conn: Connection, keys: list[K]) -> list[M | N | UnreadableRow]:
        found = list[M | N | UnreadableRow]()
        for key in keys:
            try:
                found.append(read(conn, [key]).get(key, missing))
            except UnreadableRow as fault:
                found.append(fault)
        return found

    async def load(keys: list[K]) -> Sequence[M | N | UnreadableRow]:
        try:
            found = await database.read(read, keys)
        except UnreadableRow:
            return await database.read(one_by_one, keys)
        return [found.get(key, missing) for key in keys]

    return DataLoader(load, max_batch_size=MAX_BATCH)


def by_key_and_slice(
    database: Database, read: Callable[[Connection, list[int], int, int], Mapping[int, M]]
) -> DataLoader[tuple[int, int, int], M]:
    """Return a loader of slices: a key is an id and two numbers, which are passed to ``read``."""

    async def load(keys: list[tuple[int, int, int]]) -> list[M]:
        found: dict[tuple[int, int, int], M] = {}
        for one, other in dict.fromkeys(key[1:] for key in keys):
            parts = await database.read(read, [key[0] for key in keys if key[1:] == (one, other)], one, other)
            found |= {(key, one, other): part for key, part in parts.items()}
        return [found[key] for key in keys]

    return DataLoader(load, max_batch_size=MAX_BATCH)


def _retrieve(read: "asyncio.Future[Any]") -> None:
    if not read.cancelled():
        read.exception()


@dataclass(frozen=True, slots=True)
class PageKey:
    """A page of the rows that belong to one parent."""

    parent: int | str
    request: PageRequest


@dataclass(frozen=True, slots=True)
class CountKey:
    """The number of rows that belong to one parent and meet a condition."""

    parent: int | str
    criteria: Criteria


Reader: TypeAlias = Database | Searches
"""A way to the database: to rows that indexes find, or to those that are searched."""


class Children(Generic[M]):
    """The rows of a list that belong to one of many parents, by page and by number.

    Args:
        field: The field of the list that names the parent.
        shown: Notes the rows that a page leaves out.
    """

    def __init__(self, database: Reader, listing: Listing[M], field: str, shown: Callable[[Page[M]], Page[M]]) -> None:
        self._shown = shown
        self._database = database
        self._listing = listing
        self._field = field
        self._pages: DataLoader[PageKey, Page[M]] = DataLoader(self._load_pages, max_batch_size=MAX_BATCH)
        self._counts: DataLoader[CountKey, int] = DataLoader(self._load_counts, max_batch_size=MAX_BATCH)

    async def page(self, parent: int | str, request: PageRequest) -> Page[M]:
        """Return one page of the rows of ``parent``."""
        return await self._pages.load(PageKey(parent, request))

    async def count(self, parent: int | str, criteria: Criteria) -> int:
        """Return how many rows of ``parent`` meet ``criteria``, counted up to the cap and one more."""
        return await self._counts.load(CountKey(parent, criteria))

    async def _load_pages(self, keys: list[PageKey]) -> list[Page[M]]:
        found: dict[PageKey, Page[M]] = {}
        for request in dict.fromkeys(key.request for key in keys):
            parents = [key.parent for key in keys if key.request == request]
            read = await self._database.read(pages.pages_of, self._listing, self._field, parents, request)
            found |= {PageKey(parent, request): self._shown(page) for parent, page in read.items()}
        return [found[key] for key in keys]

    async def _load_counts(self, keys: list[CountKey]) -> list[int]:
        found: dict[CountKey, int] = {}
        for criteria in dict.fromkeys(key.criteria for key in keys):
            parents = [key.parent for key in keys if key.criteria == criteria]
            read = await self._database.read(pages.counts_of, self._listing, self._field, parents, criteria)
            found |= {CountKey(parent, criteria): number for parent, number in read.items()}
        return [found[key] for key in keys]
