"""Errors between a client and a server; each is a :class:``ClientError``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

RETRYABLE_STATUS: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which the same request may succeed later."""

PASSING: Final = frozenset({"UNAVAILABLE", "INTERNAL_SERVER_ERROR"})
"""Classes of GraphQL errors (``extensions.classification``) after which the same request may succeed later."""


class ClientError(Exception):
    """Something went wrong; the message is a sentence for people.

    Attributes:
        retryable: Whether the same request may succeed later without anybody changing anything.
    """

    retryable: bool = False


class InvalidAddressError(ClientError):
    """The address of the server is none."""


class UnwritableError(ClientError, ValueError):
    """A value cannot be sent: JSON has no form for it."""


class UnreachableError(ClientError):
    """Nobody answers at the server's address, or the connection broke."""

    retryable = True


class TimedOutError(UnreachableError):
    """The server did not answer in time. A mutation may have been done all the same: see ``idempotency_key``."""


class HttpError(ClientError):
    """The answer has an error status and is no GraphQL answer: something else answers there, e.g. a proxy.

    Attributes:
        status: The HTTP status.
        body: The first characters of the answer.
    """

    def __init__(self, message: str, status: int, body: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = body
        self.retryable = status in RETRYABLE_STATUS


class InvalidAnswerError(ClientError):
    """The address answers, but is no Cronograph server, or one of a version whose answers this client cannot read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One GraphQL error of an answer.

    Attributes:
        message: A sentence for people.
        code: The stable word in ``extensions.code``, e.g. ``LIMIT_DEPTH``; None without one.
        path: Where in the answer it happened; empty when nothing was executed.
        extensions: All that the server says besides.
    """

    message: str
    code: str | None = None
    path: tuple[str | int, ...] = ()
    extensions: Mapping[str, Any] = field(default_factory=dict[str, Any])


class OperationError(ClientError):
    """The server answered with GraphQL errors.

    Attributes:
        faults: The errors, at least one.
        data: The data of the answer besides; None when there was none.
        retry_after: Seconds after which the server asks to try again; None = it did not say.
    """

    def __init__(self, faults: Sequence[Fault], data: Mapping[str, Any] | None = None) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = tuple(faults)
        self.data = data
        self.retryable = any(fault.extensions.get("classification") in PASSING for fault in faults)
        waits = [fault.extensions.get("retryAfter") for fault in faults]
        self.retry_after = max((float(wait) for wait in waits if isinstance(wait, int | float)), default=None)

    @property
    def codes(self) -> frozenset[str]:
        """The codes of all errors."""
        return frozenset(fault.code for fault in self.faults if fault.code is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Tell why an input was refused, as payloads of mutations list it.

    Attributes:
        code: A stable word, e.g. ``NOT_FOUND`` or ``OVERLAP``.
        message: A sentence for people.
        path: Where in the input the fault is, outermost first.
    """

    code: str
    message: str
    path: tuple[str, ...] = ()


class RefusedError(ClientError):
    """A mutation was refused; nothing was changed.

    Attributes:
        refusals: The reasons, at least one.
    """

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        super().__init__("; ".join(refusal.message for refusal in refusals))
        self.refusals = tuple(refusals)

    @property
    def codes(self) -> frozenset[str]:
        """The codes of all reasons."""
        return frozenset(refusal.code for refusal in self.refusals)
