"""By what lists are read in batches."""

from dataclasses import dataclass
from typing import Any

from ...jobs.store.read.listing.keyset import PageRequest
from ...jobs.store.read.listing.listing import Listing


@dataclass(frozen=True, slots=True)
class ListKey:
    """A page of a whole list; with ``newest`` of tasks, each with its newest finished execution."""

    listing: Listing[Any]
    request: PageRequest
    newest: Listing[Any] | None = None


@dataclass(frozen=True, slots=True)
class SearchKey:
    """A page of a whole list for which rows are searched; ``bounded`` ends the search after so many.

    Attributes:
        bounded: Whether the search ends after ``REACH`` rows.
    """

    listing: Listing[Any]
    read: ListKey
    bounded: bool
