"""Read the audit log: its entries, revisions of a thing, and the chain by which it is seen to be whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from sqlalchemy import Connection, Row, select

from ...core.actor import Entry, described
from ...core.arguments.revisions import RevisedKind
from ...core.base.errors import UnreadableRow
from ...core.base.signature import VERSION
from ...core.model import Json
from ...store.db.audit import GENESIS, chained
from ...store.db.unreadable import each
from ...store.schema.rows import reader_of
from ...store.schema.tables import audit_head as h
from ...store.schema.tables import audit_log as a
from ...store.schema.tables import job
from ...store.statements.listing.keyset import OrderKey
from ...store.statements.listing.listing import Listing, columns

BATCH = 1000


_read = reader_of(Entry)
_TEXTS: Final = ("actor", "address", "action", "subject", "before", "after", "revised", "job_name")


def entry_from(row: Row[Any]) -> Entry:
    """Return the entry behind a row.

    Raises:
        TypeError: it holds something that is no entry: SQLite keeps bytes where a text should be.
    """
    entry = _read(row)
    for name in _TEXTS:
        value: object = getattr(entry, name)
        if not isinstance(value, str | None):
            raise TypeError(f"'{name}' must be a text, got {value!r:.100}")
    return entry


AUDIT: Listing[Entry] = Listing(
    name="audit",
    rows=select(a),
    key=a.c.id,
    fields=columns(a, "id at actor address action subject"),
    order=(OrderKey("id", descending=True),),
    model=entry_from,
)
"""All entries of the audit log."""

REVISIONS: Listing[Entry] = Listing(
    name="revisions",
    rows=select(a).where(a.c.revised.is_not(None)),
    key=a.c.id,
    fields=columns(a, "id at actor action subject revised job_name"),
    order=(OrderKey("id", descending=True),),
    model=entry_from,
)
"""The entries that are revisions of tasks, groups and jobs."""
MOST_UNDONE = 1000


def revision(conn: Connection, number: int) -> Entry | None:
    """Return a revision by the number of its entry; None if there is none."""
    row = conn.execute(select(a).where(a.c.id == number, a.c.revised.is_not(None))).one_or_none()
    return None if row is None else entry_from(row)


def later_revisions(conn: Connection, entry: Entry) -> list[Entry]:
    """Return the revisions of the same thing after one, the newest first; one more than ``MOST_UNDONE`` at most."""
    of_thing = (a.c.revised == entry.revised) & (a.c.subject == entry.subject)
    found = select(a).where(of_thing, a.c.id > entry.id).order_by(a.c.id.desc()).limit(MOST_UNDONE + 1)
    return [entry_from(row) for row in conn.execute(found)]


MOST_VERSIONS = 200


def said_versions(conn: Connection, job_name: str) -> dict[str, str]:
    """Return the versions that the code of a job says and said, by their signatures; those of its newest changes."""
    of_job = (a.c.revised == RevisedKind.JOB.value) & (a.c.subject == job_name)
    found: dict[str, str] = {}
    entries = select(a).where(of_job).order_by(a.c.id.desc()).limit(MOST_VERSIONS)
    for entry in map(entry_from, conn.execute(entries)):
        for said in (entry.before, entry.after):
            values: Json = described(said)
            named = cast("dict[str, Any]", values) if isinstance(values, dict) else {}
            if {"args_schema", "code_version"} <= named.keys():
                found.setdefault(named["args_schema"], named["code_version"])
    for row in conn.execute(select(job.c.args_schema, job.c.signature, job.c.versions).where(job.c.name == job_name)):
        others: dict[str, dict[str, Any]] = row.versions or {}
        schemas: dict[str, dict[str, Any]] = {signature: one["args_schema"] for signature, one in others.items()}
        schemas[row.signature] = row.args_schema
        found |= {signature: schema[VERSION] for signature, schema in schemas.items() if VERSION in schema}
    return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """Hold the result of a look at the whole chain.

    Attributes:
        entries: How many entries there are.
        newest: The hash of the newest one, to be kept elsewhere.
        fault: The first fault; None when the chain is whole.
    """

    entries: int
    newest: str
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An entry that somebody wrote past this product, and that is none."""

    id: int
    fault: str


def chain(conn: Connection) -> Iterator[tuple[Entry | Unreadable, str]]:
    """Yield all entries with their hashes, the oldest first."""
    last = 0
    while True:
        numbers = conn.execute(select(a.c.id).where(a.c.id > last).order_by(a.c.id).limit(BATCH)).scalars().all()
        if not numbers:
            return
        yield from _links(conn, last, numbers)
        last = numbers[-1]


def _links(conn: Connection, after: int, numbers: Sequence[int]) -> list[tuple[Entry | Unreadable, str]]:
    between = select(a).where(a.c.id > after, a.c.id <= numbers[-1]).order_by(a.c.id)
    found = each(conn, between, a.c.id, lambda row: (entry_from(row), row.hash))
    return [
        (Unreadable(number, one.message), str(conn.execute(select(a.c.hash).where(a.c.id == number)).scalar()))
        if isinstance(one, UnreadableRow)
        else one
        for number, one in zip(numbers, found, strict=True)
    ]


def verify(conn: Connection) -> Verdict:
    """Compute every hash again and compare, from the first entry to the last one that the head names."""
    head = conn.execute(select(h)).one_or_none()
    number, before = (0, GENESIS) if head is None else (head.pruned_id, head.pruned_hash)
    count = 0
    for entry, stored in chain(conn):
        number, count = number + 1, count + 1
        if entry.id != number:
            return Verdict(count, before, f"entry {number} is missing")
        if isinstance(entry, Unreadable):
            return Verdict(count, before, f"entry {number} cannot be read: {entry.fault}")
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
