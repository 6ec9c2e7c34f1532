"""Cursors of lists: opaque to clients, bound to the list and the order in which they were given out."""

import base64
import binascii
import json
from collections.abc import Sequence
from datetime import UTC, datetime

from ...jobs.core.base.times import is_possible
from ...jobs.store.read.listing.keyset import OrderKey, Position, Value
from ...jobs.store.schema.types import from_text, to_text
from ..base.errors import UserFacingError
from ..base.scalars import unstorable

INVALID_CURSOR = "INVALID_CURSOR"
MAX_CURSOR = 2_000
"""Longest cursor that is looked at, in characters."""


def encode(listing: str, order: Sequence[OrderKey], position: Position) -> str:
    """The cursor of a row at ``position`` in a list ordered by ``order``."""
    document = [_bound_to(listing, order), *(_to_json(value) for value in position)]
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(listing: str, order: Sequence[OrderKey], kinds: Sequence[type], cursor: str, argument: str) -> Position:
    """The position behind a cursor.

    Args:
        listing: The list it is used with.
        order: The order it is used with.
        kinds: The Python type of each value of the order.
        cursor: What the client sent.
        argument: Where, for the message: ``after`` or ``before``.

    Raises:
        UserFacingError: ``INVALID_CURSOR``: not a cursor of ours, or one of another list or order.
    """
    document = _document(cursor)
    if not document:
        raise _refused(argument, "is not a cursor that this server gave out", cursor)
    if document[0] != _bound_to(listing, order):
        raise _refused(argument, "belongs to another list or another order than this one", cursor)
    if len(document) != len(order) + 1:
        raise _refused(argument, "is not a cursor that this server gave out", cursor)
    values: list[Value] = []
    for kind, stored in zip(kinds, document[1:], strict=True):
        value = _from_json(kind, stored)
        if value is None and stored is not None:
            raise _refused(argument, "is not a cursor that this server gave out", cursor)
        values.append(value)
    if values[-1] is None:
        raise _refused(argument, "is not a cursor that this server gave out", cursor)
    return tuple(values)


def _bound_to(listing: str, order: Sequence[OrderKey]) -> str:
    return ":".join([listing, *map(_sign, order)])


def _sign(key: OrderKey) -> str:
    placed = "" if key.nulls_first is None else "^" if key.nulls_first else "$"
    return f"{'-' if key.descending else ''}{key.field}{placed}"


def _document(cursor: str) -> list[object] | None:
    if not cursor or len(cursor) > MAX_CURSOR or not cursor.isascii():
        return None
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        document: object = json.loads(text)
    except (binascii.Error, ValueError, RecursionError):
        return None
    return document if isinstance(document, list) else None  # pyright: ignore[reportUnknownVariableType]


def _to_json(value: Value) -> object:
    return to_text(value) if isinstance(value, datetime) else value


def _from_json(kind: type, stored: object) -> Value:
    """The value, or None if it is not one of ``kind``."""
    if kind is datetime:
        return _time(stored)
    if kind is float and isinstance(stored, int | float) and not isinstance(stored, bool):
        return float(stored)
    if kind is int and isinstance(stored, int) and not isinstance(stored, bool):
        return stored if -(2**63) <= stored < 2**63 else None
    if kind is str and isinstance(stored, str):
        return None if unstorable(stored) else stored
    return stored if kind is bool and isinstance(stored, bool) else None


def _time(stored: object) -> datetime | None:
    try:
        instant = from_text(stored) if isinstance(stored, str) else None
    except ValueError:
        return None
    if instant is None or instant.tzinfo is None or not is_possible(instant):
        return None
    return instant.astimezone(UTC)


def _refused(argument: str, fault: str, cursor: str) -> UserFacingError:
    shown = cursor if len(cursor) <= 40 else f"{cursor[:40]}…"
    return UserFacingError(
        f"{argument}: {shown!r} {fault}; take it from 'pageInfo' or 'edges' of the same list, ordered the same way",
        code=INVALID_CURSOR,
    )
