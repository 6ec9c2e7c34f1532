"""The rows of a list that belong to others: the runs of tasks, the executions of runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from ...jobs.store.db.database import Database
from ...jobs.store.read.listing import pages
from ...jobs.store.read.listing.criteria import Criteria
from ...jobs.store.read.listing.keyset import Page, PageRequest
from ...jobs.store.read.listing.listing import Listing
from ..guard.searches import Searches
from .data_loader import MAX_BATCH, DataLoader

M = TypeVar("M")


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
        database: How they are read.
        listing: The list.
        field: The field of the list that names the parent.
        shown: Notes what a page leaves out.
    """

    def __init__(self, database: Reader, listing: Listing[M], field: str, shown: Callable[[Page[M]], Page[M]]) -> None:
        self._shown = shown
        self._database = database
        self._listing = listing
        self._field = field
        self._pages: DataLoader[PageKey, Page[M]] = DataLoader(self._load_pages, max_batch_size=MAX_BATCH)
        self._counts: DataLoader[CountKey, int] = DataLoader(self._load_counts, max_batch_size=MAX_BATCH)

    async def page(self, parent: int | str, request: PageRequest) -> Page[M]:
        """One page of the rows of ``parent``."""
        return await self._pages.load(PageKey(parent, request))

    async def count(self, parent: int | str, criteria: Criteria) -> int:
        """How many rows of ``parent`` meet ``criteria``, counted up to the cap and one more."""
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
