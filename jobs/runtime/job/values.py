"""Make values that come from jobs fit to be stored and shown: plain, bounded and without secrets."""

import json
import math
import re

from ...base.hiding import NOTHING_HIDDEN, Redactor
from ...core.base.unwritable import Unwritable, storable_text, unstorable, unwritable
from ...core.model import Json

MAX_VALUE = 1_000_000
"""Characters of a JSON value that is kept: a result, a checkpoint."""
MAX_NOTE = 500
"""Characters of a progress message that are kept."""
_LARGEST = 1e300
_SUSPECT = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
"""In JSON text: perhaps a NUL, which PostgreSQL cannot store, or a half of a surrogate pair, which is no character."""


def plain_text(text: str, limit: int) -> str:
    """Return ``text`` without NUL and lone surrogates, cut to ``limit`` characters; a cut says how many are missing."""
    if not text.isascii() or "\x00" in text:
        text = storable_text(text)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} characters cut)"


def plain_json(value: Json, what: str, limit: int = MAX_VALUE) -> Json:
    """Return a copy of ``value`` that every database can store and that no later change of the original reaches.

    Args:
        value: JSON, whose keys are texts; tuples become lists.
        what: What it is, for the message ("the checkpoint").
        limit: Characters of its JSON.

    Raises:
        ValueError: it is not JSON (NaN, infinity and keys that are no texts are not either), too large, or a text in
            it has a NUL or half of a surrogate pair.
    """
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(_fault(what, unwritable(value)) or f"{what} must be JSON: {error}") from error
    if len(text) > limit:
        raise ValueError(f"{what} may have {limit} characters of JSON, got {len(text)}; keep large data elsewhere")
    copy = json.loads(text)
    if copy != value and (fault := _fault(what, unwritable(value))):
        raise ValueError(fault)
    if _SUSPECT.search(text) and (fault := _fault(what, unstorable(copy))):
        raise ValueError(fault)
    return copy


def _fault(what: str, found: Unwritable | None) -> str | None:
    if found is None:
        return None
    return f"{what}{f', at {found.where},' if found.place else ''} {found.why}"


def progress_document(
    done: float, total: float | None, message: str | None, redactor: Redactor = NOTHING_HIDDEN
) -> dict[str, Json]:
    """Progress as it is stored and shown.

    Raises:
        ValueError: a number is not finite.
        TypeError: not a number at all.
    """
    return {
        "done": _number(done, "done"),
        "total": None if total is None else _number(total, "total"),
        "message": None if message is None else plain_text(redactor.text(str(message)), MAX_NOTE),
    }


def _number(value: float, what: str) -> float:
    """Return a finite ``int`` or ``float``; numbers of other libraries are converted."""
    try:
        number = value if type(value) is int else float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"progress: {what} must be a number, got {type(value).__name__}") from error
    if not -_LARGEST < number < _LARGEST:
        got = repr(number) if isinstance(number, float) else f"one of {number.bit_length()} bits"
        must = f"between -{_LARGEST:g} and {_LARGEST:g}" if abs(number) < math.inf else "a finite number"
        raise ValueError(f"progress: {what} must be {must}, got {got}")
    return number
