"""Reading the audit log: as a list, and from its begin to see whether it is whole."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, select

from ....core.auth.audit import Entry
from ...db.audit import GENESIS, chained
from ...schema.rows import reader_of
from ...schema.tables import audit_head as h
from ...schema.tables import audit_log as a
from ..listing.aggregates import Listing, columns
from ..listing.keyset import OrderKey

BATCH = 1000


entry_from = reader_of(Entry)
"""The entry behind a row."""


AUDIT: Listing[Entry] = Listing(
    name="audit",
    rows=select(a),
    key=a.c.id,
    fields=columns(a, "id at actor address action subject"),
    order=(OrderKey("id", descending=True),),
    model=entry_from,
)
"""All entries of the audit log."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a look at the whole chain found.

    Attributes:
        entries: How many entries there are.
        newest: The hash of the newest one, to be kept elsewhere.
        fault: What is wrong first; None when the chain is whole.
    """

    entries: int
    newest: str
    fault: str | None = None


def chain(conn: Connection) -> Iterator[tuple[Entry, str]]:
    """All entries with their hashes, the oldest first."""
    last = 0
    while True:
        rows = list(conn.execute(select(a).where(a.c.id > last).order_by(a.c.id).limit(BATCH)))
        for row in rows:
            yield entry_from(row), row.hash
            last = row.id
        if len(rows) < BATCH:
            return


def verify(conn: Connection) -> Verdict:
    """Compute every hash anew and compare, from the first entry to what the head says is the last."""
    head = conn.execute(select(h)).one_or_none()
    number, before = (0, GENESIS) if head is None else (head.pruned_id, head.pruned_hash)
    count = 0
    for entry, stored in chain(conn):
        number, count = number + 1, count + 1
        if entry.id != number:
            return Verdict(count, before, f"entry {number} is missing")
        if chained(before, entry) != stored:
            return Verdict(count, before, f"entry {number} is not what was written, or the one before it is not")
        before = stored
    if head is None:
        return Verdict(count, before, "the head of the chain is missing" if count else None)
    if (head.last_id, head.last_hash) != (number, before):
        return Verdict(
            count, before, f"the newest entries are missing: {head.last_id} were written, {number} are there"
        )
    return Verdict(count, before)
