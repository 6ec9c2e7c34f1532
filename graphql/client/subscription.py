"""A subscription as a value, and the machine that follows it through lost connections. No network here.

The transport asks the machine for a request, feeds it the bytes that come, and reports a lost connection;
the machine answers with results, with pauses, or with the error that ends everything.
"""

import json
import random
import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

from .base.errors import ClientError, InvalidAnswerError, OperationError, UnreachableError
from .operation import UNKNOWN_HASH, Operation, custom, data_of, envelope

LINE_END: Final = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Message:
    """One event of the stream."""

    event: str
    data: str

    def json(self) -> object:
        """Return the text as JSON.

        Raises:
            ValueError: it is none.
        """
        return json.loads(self.data)


class MessageParser:
    """Takes the bytes of one stream, in pieces of any size."""

    def __init__(self) -> None:
        """Start at the beginning of a stream."""
        self._decoder = getincrementaldecoder("utf-8-sig")(errors="replace")
        self._rest: list[str] = []
        self._event = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[Message]:
        """Return the messages that are complete with these bytes."""
        text = self._decoder.decode(chunk)
        if not LINE_END.search(text):
            # A long line comes in many pieces: they are joined once, when it ends.
            self._rest.append(text)
            return []
        text = "".join([*self._rest, text])
        # The second half of a line end may still be on its way.
        held = "\r" if text.endswith("\r") else ""
        *lines, rest = LINE_END.split(text[: len(text) - len(held)])
        self._rest = [rest + held]
        return [message for line in lines if (message := self._line(line)) is not None]

    def _line(self, line: str) -> Message | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._event = value
        elif field == "data":
            self._data.append(value)
        # A comment keeps the connection alive; `id` is in the data too, `retry` is for browsers.
        return None

    def _dispatch(self) -> Message | None:
        event, data = self._event, self._data
        self._event, self._data = "", []
        return Message(event or "message", "\n".join(data)) if event or data else None


T = TypeVar("T")

FALLEN_BEHIND: Final = "SLOW_READER"
"""The code with which the server cuts off a reader that was too slow; a client that can resume does."""

SERVER_FAULTS: Final = 5
"""So many times in a row an error inside of the server is retried."""

_FAULTY: Final = frozenset({"INTERNAL_ERROR", "TIMEOUT"})
"""The codes of these. A server that starts, or is without its database, is waited for as one that does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconnect:
    """Reconnect lost connections: with doubling pauses, jittered, as long as need be.

    The first connection is not retried: a wrong address is reported at once.

    Attributes:
        first_pause: Seconds before the first new try.
        longest_pause: Seconds that a pause never exceeds.
        attempts: Give up after so many tries in a row; None = never.
    """

    first_pause: float = 0.2
    longest_pause: float = 10.0
    attempts: int | None = None

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after so many failures in a row, at least one."""
        # Not `jobs.core.base.backoff`: it would load 82 modules of the engine at each start of a client.
        longest = min(self.longest_pause, self.first_pause * 2.0 ** min(failures - 1, 30))
        # Clients that lost one server must not all return in the same moment.
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription(Generic[T]):
    """A subscription.

    Attributes:
        operation: Its document and variables; its ``read`` turns one answer into one result.
        resume_variable: The variable that says where to go on; None = it cannot be resumed.
        place_of: Where to go on behind a result; None = where it was.
        is_last: Whether a result is the end.
        start: Asks for the place to begin at when none is given, so that nothing is missed before the first result.
    """

    operation: Operation[T]
    resume_variable: str | None = None
    place_of: Callable[[T], object] = lambda _: None
    is_last: Callable[[T], bool] = lambda _: False
    start: Operation[str] | None = None


def custom_subscription(
    document: str,
    variables: Mapping[str, object] | None,
    operation_name: str | None,
    resume: tuple[str, str] | None,
) -> Subscription[dict[str, Any]]:
    """Return a subscription that yields ``data``; see ``Client.subscribe``."""
    operation = custom(document, variables, operation_name, dict[str, Any])
    if resume is None:
        return Subscription(operation=operation)
    variable, path = resume
    return Subscription(operation=operation, resume_variable=variable, place_of=lambda data: _at(data, path))


def _at(data: object, path: str) -> object:
    for name in path.split("."):
        data = cast("Mapping[str, object]", data).get(name) if isinstance(data, Mapping) else None
    return data


class Follower(Generic[T]):
    """Follows one subscription.

    Attributes:
        finished: Whether it has come to its end.
    """

    def __init__(self, subscription: Subscription[T], reconnect: Reconnect) -> None:
        """Begin where the subscription's variables say."""
        self._subscription = subscription
        self._reconnect = reconnect
        self._parser = MessageParser()
        variable = subscription.resume_variable
        self._place: object = subscription.operation.variables.get(variable) if variable else None
        self._established = False
        self._failures = 0
        self._faults = 0
        # The document is sent by its hash, until a server does not know that.
        self._whole = False
        self.finished = False

    def question(self) -> Operation[str] | None:
        """Return the query to send before the subscription can begin; answer it with ``begin_at``."""
        return self._subscription.start if self._place is None else None

    def begin_at(self, place: str) -> None:
        """Take the answer to ``question``."""
        self._place = place

    def body(self) -> Mapping[str, Any]:
        """Return the request of the next connection."""
        self._parser = MessageParser()
        operation, variable = self._subscription.operation, self._subscription.resume_variable
        body = operation.body(whole=self._whole)
        if variable is not None and self._place is not None:
            body["variables"] = {**body["variables"], variable: self._place}
        return body

    def opened(self, status: int, content_type: str) -> bool:
        """Return whether the answer is the stream; otherwise read it whole and pass it to ``refused``."""
        return status == 200 and content_type.partition(";")[0].strip().lower() == "text/event-stream"

    def refused(self, status: int, decode: Callable[[], object], text: str) -> None:
        """Raise the error of an answer that is no stream."""
        data_of(envelope(status, decode, text))
        raise InvalidAnswerError("the server answered the subscription with one result instead of a stream")

    def receive(self, chunk: bytes) -> Iterator[T]:
        """Yield the results in a chunk of the stream one by one: a new connection continues after the last one taken.

        Raises:
            ClientError: while iterating: the server ended the subscription with an error.
        """
        # The bytes prove that the server is there again.
        self._established, self._failures = True, 0
        for message in self._parser.feed(chunk):
            if message.event == "complete":
                self.finished = True
            elif message.event == "next" and not self.finished:
                yield self._taken(self._result(message))

    def lost(self, error: ClientError) -> float:
        """Return the seconds to wait before the next connection, as this one is lost.

        Raises:
            ClientError: ``error``, because a new connection would not help or enough were tried.
        """
        codes = error.codes if isinstance(error, OperationError) else ()
        if UNKNOWN_HASH in codes and not self._whole:
            self._whole = True
            return 0.0
        fell_behind = FALLEN_BEHIND in codes
        can_resume = self._subscription.resume_variable is not None
        if not (can_resume if fell_behind else error.retryable):
            raise error
        self._failures += 1
        self._faults += bool(_FAULTY.intersection(codes))
        limit = self._reconnect.attempts
        enough = limit is not None and self._failures > limit
        if not self._established or enough or self._faults > SERVER_FAULTS:
            raise error
        return self._reconnect.pause(max(self._failures, self._faults))

    def ended(self) -> UnreachableError:
        """Return the error for a stream that ended without a word, as it does when the server stops."""
        return UnreachableError("the server ended the stream")

    def _result(self, message: Message) -> T:
        return self._subscription.operation.read(data_of(envelope(200, message.json, message.data)))

    def _taken(self, result: T) -> T:
        self._faults = 0
        place = self._subscription.place_of(result)
        if place is not None:
            self._place = place
        self.finished = self._subscription.is_last(result)
        return result
