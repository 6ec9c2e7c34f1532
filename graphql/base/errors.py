"""Errors as clients get them, and as the log keeps them.

A deliberate error (:class:``UserFacingError``, any ``GraphQLError``) reaches the client as it is. Everything else is a
fault of this server: the client gets ``Internal error, id XXXXXXXX``, and the log gets the whole traceback, once, under
that id. Mistakes of clients never write a traceback: one short line at debug level.

Each error has ``extensions.code``, which names the fault, and ``extensions.classification``, which says whose
matter it is. The words of the latter are those of graphql-java and Apollo, so that tools and gateways that know nothing
of this server tell refusals from faults.
"""

import logging
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

from graphql import GraphQLError

from ...jobs.core.base.errors import UnreadableRow
from ...jobs.store.db.faults import kind_of, new_error_id

logger = logging.getLogger("cronograph.graphql")

LOGGED_CHARACTERS: Final = 300
"""Number of characters of a client's mistake that are logged, at debug level."""


class Classification(StrEnum):
    """The party that an error concerns, in ``extensions.classification``.

    ``BAD_REQUEST``: the request's; repeated unchanged it is refused again. ``UNAUTHENTICATED``: it is not known who
    asks. ``FORBIDDEN``: who asks, or from where, may not.
    ``UNAVAILABLE``: nobody's; the same request may succeed later. ``INTERNAL_SERVER_ERROR``: a fault of this server.
    """

    BAD_REQUEST = "BAD_REQUEST"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    FORBIDDEN = "FORBIDDEN"
    UNAVAILABLE = "UNAVAILABLE"
    INTERNAL_SERVER_ERROR = "INTERNAL_SERVER_ERROR"


CLASSIFIED: Final = {
    "INTERNAL_ERROR": Classification.INTERNAL_SERVER_ERROR,
    "UNAUTHENTICATED": Classification.UNAUTHENTICATED,
    "FORBIDDEN": Classification.FORBIDDEN,
    "CROSS_SITE": Classification.FORBIDDEN,
    "HOST_NOT_ALLOWED": Classification.FORBIDDEN,
    "TIMEOUT": Classification.UNAVAILABLE,
    "UNAVAILABLE": Classification.UNAVAILABLE,
    "STARTING": Classification.UNAVAILABLE,
    "SHUTTING_DOWN": Classification.UNAVAILABLE,
    "LIMIT_OPEN_STREAMS": Classification.UNAVAILABLE,
    "LIMIT_CLIENT_STREAMS": Classification.UNAVAILABLE,
    "LIMIT_UNREADY_SOCKETS": Classification.UNAVAILABLE,
    "BUSY": Classification.UNAVAILABLE,
    "LIMIT_QUEUED_DOCUMENTS": Classification.UNAVAILABLE,
    "LIMIT_QUEUED_OPERATIONS": Classification.UNAVAILABLE,
    "LIMIT_QUEUE_SECONDS": Classification.UNAVAILABLE,
    "LIMIT_WIDE_BODIES": Classification.UNAVAILABLE,
    "PROVIDER_NOT_AVAILABLE": Classification.UNAVAILABLE,
    "LIMIT_SEARCH_BUDGET": Classification.UNAVAILABLE,
    "SLOW_READER": Classification.UNAVAILABLE,
    "TOO_MANY_ATTEMPTS": Classification.UNAVAILABLE,
}
"""The codes that are not a matter of the request."""

RETRY_AFTER: Final[dict[str, float]] = {
    "BUSY": 1,
    "LIMIT_CLIENT_STREAMS": 5,
    "LIMIT_OPEN_STREAMS": 5,
    "LIMIT_QUEUED_DOCUMENTS": 1,
    "LIMIT_QUEUED_OPERATIONS": 2,
    "LIMIT_QUEUE_SECONDS": 2,
    "LIMIT_SEARCH_BUDGET": 2,
    "LIMIT_UNREADY_SOCKETS": 1,
    "LIMIT_WIDE_BODIES": 2,
    "PROVIDER_NOT_AVAILABLE": 5,
    "SHUTTING_DOWN": 1,
    "SLOW_READER": 1,
    "STARTING": 1,
    "TIMEOUT": 5,
    "TOO_MANY_ATTEMPTS": 60,
    "UNAVAILABLE": 1,
}
"""Seconds after which to try again, for each refusal that passes by itself, unless the refusal knows better."""


def classify(code: str) -> Classification:
    """Return the party that an error of this code concerns; the request unless ``CLASSIFIED`` says otherwise."""
    return CLASSIFIED.get(code, Classification.BAD_REQUEST)


def standing(code: str) -> dict[str, Any]:
    """Return the ``extensions`` of every error of a code: code, classification, and when to try again, if ever."""
    known: dict[str, Any] = {"code": code, "classification": classify(code).value}
    return {**known, "retryAfter": RETRY_AFTER[code]} if code in RETRY_AFTER else known


class UserFacingError(GraphQLError):
    """An error that is meant for the client: its message is shown unchanged.

    Attributes:
        code: Stable machine-readable reason, upper case, also in ``extensions.code``.
        http_status: Status of the HTTP answer when the whole request fails for this reason; None = 200 or 400 by the
            rules of GraphQL over HTTP.
    """

    def __init__(
        self, message: str, *, code: str, http_status: int | None = None, extensions: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message, extensions={**standing(code), **(extensions or {})})
        self.code = code
        self.http_status = http_status


_FOUND: Final = re.compile(
    r"(?:,? [Ff]ound:? [{\[]|(?<=to be an object), found:|(?<=non string value):|(?<= value): [{\[]"
    r"|(?<=String) ['\"]).*",
    re.DOTALL,
)


def unquoted(message: str) -> str:
    """Return a message of graphql-core without the objects, lists and texts that it quotes: they may hold a secret."""
    return _FOUND.sub("", message)


class InternalError(GraphQLError):
    """The masked form of an unexpected error; ``extensions.id`` finds the traceback in the log."""

    def __init__(self, error_id: str, located: GraphQLError | None = None) -> None:
        super().__init__(
            f"Internal error, id {error_id}",
            nodes=located.nodes if located else None,
            path=located.path if located else None,
            extensions={
                "code": "INTERNAL_ERROR",
                "classification": Classification.INTERNAL_SERVER_ERROR.value,
                "id": error_id,
            },
        )


def is_public(error: GraphQLError) -> bool:
    """Return whether the client may see this error as it is.

    Public are errors without a cause (syntax, validation), those raised on purpose, and the refusal of a variable or an
    argument by a scalar: such errors have a place in the document but no path, since nothing has been executed yet.
    """
    cause: BaseException | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    return cause is None or (error.path is None and bool(error.nodes))


def mask(error: Exception, operation: str | None = None) -> GraphQLError:
    """Return the error as the client may see it; an unexpected one is logged with its traceback.

    Args:
        error: Any exception, whether wrapped by GraphQL or not.
        operation: Name of the operation for the log.
    """
    return mask_all([error], operation)[0]


def mask_all(errors: Sequence[Exception], operation: str | None = None) -> list[GraphQLError]:
    """Return the errors of one result as the client may see them, in order.

    One fault that hits many fields (a lost database connection, a loader) is logged once and has one id.
    """
    seen: dict[tuple[type[BaseException], str], str] = {}
    masked: list[GraphQLError] = []
    for error in errors:
        if isinstance(error, InternalError):
            masked.append(error)
        elif isinstance(error, GraphQLError) and is_public(error):
            error.message = unquoted(error.message)
            logger.debug("GraphQL request refused: %s", error.message[:LOGGED_CHARACTERS])
            # An error of graphql-core itself that has no code yet refuses the value of a variable or an argument.
            masked.append(coded(error, "INVALID_VARIABLES"))
        elif kind_of(cause := root_cause(error)).passes:
            masked.append(_unavailable(error, cause))
        elif isinstance(cause, UnreadableRow):
            masked.append(_located(error, cause.message, standing(cause.code.value)))
        else:
            masked.append(_mask_unexpected(error, operation, seen))
    return masked


def _mask_unexpected(
    error: Exception, operation: str | None, seen: dict[tuple[type[BaseException], str], str]
) -> InternalError:
    located = error if isinstance(error, GraphQLError) else None
    cause = root_cause(error)
    key = (type(cause), str(cause))
    if key not in seen:
        seen[key] = new_error_id()
        logger.error(
            "Internal error, id %s, operation %s, path %s",
            seen[key],
            (operation or "(unnamed)")[:LOGGED_CHARACTERS],
            ".".join(map(str, located.path)) if located and located.path else "(none)",
            exc_info=(type(cause), cause, cause.__traceback__),
            extra={"error_id": seen[key]},
        )
    return InternalError(seen[key], located)


def _unavailable(error: Exception, cause: Exception) -> GraphQLError:
    """Return the error of an unavailable database; no request is at fault, so no traceback is kept."""
    logger.warning("a request was not answered: the database is unavailable: %s", str(cause).partition("\n")[0])
    return _located(
        error, "The database does not answer at the moment; try again in a moment.", standing("UNAVAILABLE")
    )


def _located(error: Exception, message: str, extensions: dict[str, Any]) -> GraphQLError:
    """Return the error to show to the client, at the same place in the document."""
    located = error if isinstance(error, GraphQLError) else None
    return GraphQLError(
        message,
        nodes=located.nodes if located else None,
        path=located.path if located else None,
        extensions=extensions,
    )


def root_cause(error: Exception) -> Exception:
    """Return the innermost cause of an error, beneath all wrappers of GraphQL."""
    cause = error
    while isinstance(cause, GraphQLError) and isinstance(cause.original_error, Exception):
        cause = cause.original_error
    return cause


def shorten(error: GraphQLError, characters: int) -> GraphQLError:
    """Return the error with a message of at most ``characters`` characters: messages quote names of any length."""
    error.message = unquoted(error.message)
    if len(error.message) > characters:
        error.message = f"{error.message[:characters]}… ({len(error.message):,} characters)"
    return error


def coded(error: GraphQLError, code: str) -> GraphQLError:
    """Return the error with the classification of its code; this is ``code`` unless ``extensions.code`` is set."""
    if error.extensions is None:
        error.extensions = {}
    error.extensions = {**standing(error.extensions.get("code", code)), **error.extensions}
    return error


def error_answer(errors: Sequence[GraphQLError]) -> dict[str, Any]:
    """Return a GraphQL response without data, as a JSON-ready dict."""
    return {"errors": [error.formatted for error in errors]}
