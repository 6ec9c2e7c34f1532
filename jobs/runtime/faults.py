"""How a fault of a part that starts again by itself is logged: whole, but in one line while the database is away."""

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from ..core.later import Later
from ..store.db.away import is_away
from ..store.db.database import InterfaceError, OperationalError

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = Later("psycopg")

_AWAY = (OperationalError, InterfaceError, OSError)
"""With psycopg's ``OperationalError``, what is raised when a connection ends or cannot be made.

A traceback would say nothing about the reason.

PostgreSQL has errors of other classes that say the same, e.g. while it is read-only: ``is_away`` knows them.
"""


def log_fault(log: logging.Logger, what: str, error: BaseException) -> None:
    """Log that ``what`` happened because of ``error``.

    Args:
        log: Whose fault it is.
        what: In words, without the reason.
        error: The reason; of a group, what it holds.
    """
    reasons = list(_leaves(error))
    if all(isinstance(reason, (*_AWAY, psycopg.OperationalError)) or is_away(reason) for reason in reasons):
        log.error("%s: %s", what, "; ".join(dict.fromkeys(map(_first_line, reasons))))
    else:
        log.error("%s: %s", what, error, exc_info=error)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        inside: tuple[BaseException, ...] = cast("Any", error).exceptions
        for inner in inside:
            yield from _leaves(inner)
    else:
        yield error


def _first_line(error: BaseException) -> str:
    """What the driver said, without the statement that SQLAlchemy adds."""
    original: object = getattr(error, "orig", None) or error
    return str(original).partition("\n")[0] or type(original).__name__
