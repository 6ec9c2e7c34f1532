"""An operation as a value: the document to send, and the reading of its answer. Nothing here knows about networks."""

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar, cast

from .base.errors import Fault, HttpError, InvalidAnswerError, OperationError
from .base.shapes import read, written
from .enums import ErrorCode
from .results import Page

log = logging.getLogger(__name__)

T = TypeVar("T")
Item = TypeVar("Item")

UNKNOWN_HASH: Final = "PERSISTED_QUERY_NOT_FOUND"
"""The code for a hash that the server does not know."""

EXCERPT: Final = 200
"""Number of characters of a strange answer that an error quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[T]):
    """A query or mutation.

    Attributes:
        document: The GraphQL text.
        variables: Their values, ready for JSON.
        name: Which operation of the document; None if it has only one.
        ready_made: Whether servers know the document by its hash; False for documents of the caller's own.
        read: Turns ``data`` of the answer into the result; raises a ``ClientError`` if the answer says no.
    """

    document: str
    variables: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], T]
    name: str | None = None
    ready_made: bool = True

    def body(self, *, whole: bool = False) -> dict[str, Any]:
        """Return the request as GraphQL over HTTP wants it: a ready-made document by its hash, unless ``whole``."""
        if self.ready_made and not whole:
            sha256 = hashlib.sha256(self.document.encode()).hexdigest()
            body: dict[str, Any] = {"documentId": f"sha256:{sha256}"}
        else:
            body = {"query": self.document}
        body["variables"] = dict(self.variables)
        return body if self.name is None else {**body, "operationName": self.name}

    def is_unknown(self, decode: Callable[[], object], text: str) -> bool:
        """Return whether the server does not know the hash: it is of another version, so send the ``whole`` body.

        Args:
            decode: Parses the body of an HTTP answer; raises ValueError when that is no JSON.
            text: That body.
        """
        if not self.ready_made or UNKNOWN_HASH not in text:
            return False
        known = _decoded(decode)
        if known is None or "data" in known:
            return False
        return any(fault.code == UNKNOWN_HASH for fault in faults_of(known["errors"]))

    def answer(self, status: int, decode: Callable[[], object], text: str) -> T:
        """Return the result behind an HTTP answer.

        Args:
            status: Its HTTP status.
            decode: Parses its body; raises ValueError when that is no JSON.
            text: Its body.

        Raises:
            OperationError: the answer has GraphQL errors.
            HttpError: it has an error status and is no GraphQL answer.
            InvalidAnswerError: it is no GraphQL answer, or not of the expected form.
            RefusedError: the mutation was refused.
        """
        return self.read(data_of(envelope(status, decode, text)))


def custom(
    document: str,
    variables: Mapping[str, object] | None,
    operation_name: str | None,
    result: type[T],
    *,
    ready_made: bool = False,
) -> Operation[T]:
    """Return an operation of the caller's own document, whose whole ``data`` is read as ``result``."""
    return Operation(
        document=document,
        variables=written(variables or {}),
        name=operation_name,
        read=lambda data: read(result, data, "data"),
        ready_made=ready_made,
    )


def next_page(operation: "Operation[Page[Item]]", page: Page[Item]) -> "Operation[Page[Item]]":
    """Return the operation that reads on behind ``page``."""
    return replace(operation, variables={**operation.variables, "after": page.end_cursor})


def envelope(status: int, decode: Callable[[], object], text: str) -> Mapping[str, Any]:
    """Return the GraphQL answer in the body of an HTTP answer: an object with ``data`` or ``errors``.

    Raises:
        HttpError: there is none, and the status says that something is wrong.
        InvalidAnswerError: there is none, and the status says that all is well.
    """
    answer = _decoded(decode)
    if answer is not None:
        return answer
    excerpt = " ".join(text[:EXCERPT].split())
    if status >= 400:
        raise HttpError(f"the server answered with HTTP status {status}: {excerpt or '(empty)'}", status, text)
    raise InvalidAnswerError(
        f"what answers is no Cronograph server: HTTP status {status}, {excerpt or '(empty)'}; is the address right?"
    )


def _decoded(decode: Callable[[], object]) -> Mapping[str, Any] | None:
    try:
        answer = decode()
    except (ValueError, RecursionError):
        return None
    is_answer = isinstance(answer, dict) and ("data" in answer or "errors" in answer)
    return cast("dict[str, Any]", answer) if is_answer else None


def data_of(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``data`` of a GraphQL answer, and log rows that its lists leave out because they cannot be read.

    Raises:
        OperationError: it has other errors.
        InvalidAnswerError: it has neither data nor errors.
    """
    data: object = answer.get("data")
    known = cast("Mapping[str, Any]", data) if isinstance(data, Mapping) else None
    if answer.get("errors"):
        faults = faults_of(answer["errors"])
        if known is None or any(one.path or one.code != ErrorCode.UNREADABLE_ROW.value for one in faults):
            raise OperationError(faults, known)
        for one in faults:
            log.warning("the server left out a row: %s", one.message)
    if known is None:
        raise InvalidAnswerError("what answers is no Cronograph server: an answer without data and without errors")
    return known


def faults_of(errors: object) -> list[Fault]:
    """Return the errors of an answer, in any form."""
    items: list[object] = list(cast("list[object]", errors)) if isinstance(errors, list) else [errors]
    return [_fault(cast("Mapping[str, Any]", item)) if isinstance(item, Mapping) else _strange(item) for item in items]


def _fault(error: Mapping[str, Any]) -> Fault:
    extensions: object = error.get("extensions")
    known: Mapping[str, Any] = cast("Mapping[str, Any]", extensions) if isinstance(extensions, Mapping) else {}
    code: object = known.get("code")
    path: object = error.get("path")
    return Fault(
        message=str(error.get("message", "the server gave no reason")),
        code=code if isinstance(code, str) else None,
        path=tuple(cast("list[str | int]", path)) if isinstance(path, list) else (),
        extensions=known,
    )


def _strange(error: object) -> Fault:
    return Fault(message=str(error)[:EXCERPT])


def pauses(key: str, timeout: float | None) -> Iterator[float]:
    """Yield the seconds between two looks at a run, longer each time.

    Args:
        key: The run's id, for the message.
        timeout: Seconds after which the wait is given up; None = never.

    Raises:
        TimeoutError: the time is used up.
    """
    began, pause = time.monotonic(), 0.02
    while timeout is None or time.monotonic() - began <= timeout:
        yield pause if timeout is None else min(pause, timeout)
        pause = min(0.5, pause * 1.5)
    raise TimeoutError(f"run {key} has not ended within {timeout} s")
