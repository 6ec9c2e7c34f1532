"""Rows that cannot be read, because somebody wrote past this product: a list shows the others, the log names them."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Select
from sqlalchemy.exc import DataError

from .listing import Listing

log = logging.getLogger(__name__)

T = TypeVar("T")

FAULTS: Final = (ValueError, LookupError, TypeError, DataError)
"""What reading a value raises that is none of its column: a time that is no time, a word that is no state."""


def around_unreadable(
    conn: Connection,
    listing: Listing[Any],
    keys: Callable[[Listing[Any]], Select[Any]],
    read: Callable[[Listing[Any]], T],
) -> T:
    """What ``read`` finds in a list; if that fails, without the rows that cannot be read.

    Args:
        conn: A connection.
        listing: The list.
        keys: Selects the keys of the rows that ``read`` would look at.
        read: Reads; the list it is given may be shorter.

    Raises:
        ValueError, LookupError, TypeError, DataError: it is not for a row that reading fails.
    """
    left_out: set[Any] = set()
    while True:
        rows = listing.rows.where(listing.key.not_in(left_out)) if left_out else listing.rows
        others = replace(listing, rows=rows) if left_out else listing
        try:
            return read(others)
        except FAULTS:
            found = _unreadable(conn, listing, keys(others), read)
            if not found:
                raise
        left_out |= found.keys()
        for key, fault in found.items():
            log.error("list '%s': left out the row %s, which cannot be read: %s", listing.name, key, fault)


def _unreadable(
    conn: Connection, listing: Listing[Any], keys: Select[Any], read: Callable[[Listing[Any]], object]
) -> dict[Any, Exception]:
    """Which rows cannot be read, by their keys, and why."""
    found: dict[Any, Exception] = {}
    for key in conn.execute(keys).scalars().all():
        fault = _fault(replace(listing, rows=listing.rows.where(listing.key == key)), read)
        if fault is not None:
            found[key] = fault
    return found


def _fault(alone: Listing[Any], read: Callable[[Listing[Any]], object]) -> Exception | None:
    try:
        read(alone)
    except FAULTS as error:
        return error
    return None
