"""Speak with a node from an engine, again and again while nobody is there; HTTP by the standard library."""

import json
import logging
import os
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from queue import Queue
from typing import Any, Final
from urllib.parse import urlsplit

from typing_extensions import override

from ...core.base.times import counted
from ...core.outcome import Failed, exponential
from ...core.remote import REMOTE_PROCESS
from ..job.lines import RawLine
from ..process.wire import Ended, Lines, Message, NodeGoneError

URL, TOKEN, FOLDER = "CRONOGRAPH_ATTEMPT_URL", "CRONOGRAPH_ATTEMPT_TOKEN", "CRONOGRAPH_ATTEMPT_FOLDER"
"""Variables that say where a server is and by which token code speaks to it, or through which folder it does."""
TIMEOUT: Final = 60.0
"""Seconds for one answer."""
_PAUSE, _LONGEST_PAUSE = 0.2, 30.0
"""Seconds before the next try: after the first, and the longest."""
_WAITING: Final = 1_000
"""Messages that wait at most; a job that says more waits, as it does for a node that does not read."""
_OVER: Final = frozenset({401, 403, 404, 410})
"""Answers after which the attempt is over for its code."""
_TAKEN: Final = 409
_REFUSED: Final = frozenset(range(400, 500)) - {408, 425, 429}
"""Answers to a message that will never be taken, as it is."""


_SAID_EVERY: Final = 100
"""Failures after which it is said again that the server is absent."""


def say(text: str) -> None:
    """Write a line into the log of the engine: prints and log lines of a job belong to its execution."""
    os.write(2, f"cronograph.remote: {text}\n".encode())


class OverError(Exception):
    """The server knows the attempt no longer: it has ended, by whomever."""


class TakenError(Exception):
    """Another process has begun the attempt."""


class RefusedError(Exception):
    """The server does not take a message, however often it is sent."""


def _never() -> bool:
    return False


class Channel(ABC):
    """A way from the code of an attempt to a node, and back."""

    @abstractmethod
    def once(self, verb: str, document: Mapping[str, Any], is_over: Callable[[], bool]) -> dict[str, Any]:
        """Send a document and return the answer.

        Raises:
            OverError, TakenError, RefusedError: the other side says so.
            OSError, HTTPException, ValueError: it is not known to have arrived, and is to be sent again.
        """

    @abstractmethod
    def close(self) -> None:
        """Begin with the next document as with the first one."""

    def ask(self, verb: str, document: Mapping[str, Any], is_over: Callable[[], bool] = _never) -> dict[str, Any]:
        """Send a document and return the answer; while it does not arrive, for ever.

        Args:
            verb: ``start``, ``heartbeat`` or ``messages``.
            document: To send.
            is_over: Whether nothing needs to be said any more.

        Raises:
            OverError, TakenError, RefusedError: the other side says so.
        """
        failures = 0
        while True:
            try:
                return self.once(verb, document, is_over)
            except (OSError, HTTPException, ValueError) as error:
                self.close()
                if is_over():
                    raise OverError(str(error)) from error
                pause = exponential(_PAUSE, _LONGEST_PAUSE, failures) * random.uniform(0.5, 1.0)  # noqa: S311
                if not failures or failures % _SAID_EVERY == 0:
                    say(f"the server cannot be reached, again in {pause:.1f} s: {error}")
                failures += 1
                time.sleep(pause)


class Server(Channel):
    """One connection to a server, for one thread."""

    def __init__(self, url: str, token: str) -> None:
        self._parts = urlsplit(url)
        self._token = token
        self._connection: HTTPConnection | None = None

    @override
    def once(self, verb: str, document: Mapping[str, Any], is_over: Callable[[], bool]) -> dict[str, Any]:
        body = json.dumps(document).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        connection = self._connection or self._connect()
        connection.request("POST", f"{self._parts.path.rstrip('/')}/remote/{verb}", body, headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status == _TAKEN:
            raise TakenError(text.decode(errors="replace"))
        if answer.status in _OVER:
            raise OverError(text.decode(errors="replace"))
        if answer.status != 200:
            fault = RefusedError if answer.status in _REFUSED else OSError
            raise fault(f"the server answers {answer.status}: {text[:200].decode(errors='replace')}")
        answered: dict[str, Any] = json.loads(text)
        return answered

    def _connect(self) -> HTTPConnection:
        make = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        self._connection = make(self._parts.hostname or "localhost", self._parts.port, timeout=TIMEOUT)
        return self._connection

    @override
    def close(self) -> None:
        """End the connection; the next document makes another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Speaking:
    """Sends the messages of a job in order, and gives signs of life; ``Sender`` of ``process.wire``.

    Args:
        connect: Makes a channel, for one thread.
        sequence: The number of the message before the first.
        heartbeat: Seconds between two signs of life.
        on_answer: Called with the answer to a request.
        on_stop: Called with why the job should stop.
        on_over: Called once the server knows the attempt no longer.
    """

    def __init__(
        self,
        connect: Callable[[], Channel],
        *,
        sequence: int,
        heartbeat: float,
        on_answer: Callable[[object], None],
        on_stop: Callable[[str], None],
        on_over: Callable[[], None],
    ) -> None:
        self._connect = connect
        self._sequence = sequence
        self._heartbeat = heartbeat
        self._on_answer = on_answer
        self._on_stop = on_stop
        self._on_over = on_over
        self._waiting: Queue[Message | None] = Queue(_WAITING)
        self._over = threading.Event()
        self._sender = threading.Thread(target=self._send_all, name="cronograph-speaking", daemon=True)

    def start(self) -> None:
        """Begin to speak."""
        self._sender.start()
        threading.Thread(target=self._live, name="cronograph-heartbeat", daemon=True).start()

    def send(self, message: Message) -> None:
        """Send a message; wait while too many are waiting."""
        if self._over.is_set():
            raise NodeGoneError("the attempt is over for its server")
        self._waiting.put(message)

    def finish(self) -> None:
        """Wait until all is said, however long the server is absent."""
        self._waiting.put(None)
        self._sender.join()
        self._over.set()

    def _send_all(self) -> None:
        with closing(self._connect()) as channel:
            while (message := self._waiting.get()) is not None:
                if self._over.is_set():
                    # It is of no use; who waits for room goes on, to its end.
                    continue
                try:
                    self._say(channel, message)
                except RefusedError as error:
                    self._give_up(channel, message, error)
                except (OverError, TakenError) as error:
                    self._end(error)

    def _say(self, channel: Channel, message: Message) -> None:
        said = {"sequence": self._sequence + 1, "message": json.loads(message.model_dump_json())}
        answer = channel.ask("messages", said, self._over.is_set)
        self._sequence += 1
        self._hear(answer)

    def _give_up(self, channel: Channel, message: Message, error: RefusedError) -> None:
        """Go on without a message that the server refuses: the next one has its number."""
        say(f"a message ({type(message).__name__}) is given up: {error}")
        number = getattr(message, "number", None)
        if number is not None:
            self._on_answer({"number": number, "error": str(error)})
        instead = _instead_of(message, str(error))
        if instead is None:
            return
        try:
            self._say(channel, instead)
        except RefusedError as again:
            say(f"nor is this one taken in its place: {again}")
        except (OverError, TakenError) as over:
            self._end(over)

    def _live(self) -> None:
        with closing(self._connect()) as channel:
            while not self._over.wait(self._heartbeat):
                try:
                    self._hear(channel.ask("heartbeat", {}, self._over.is_set))
                except RefusedError as error:
                    say(f"a sign of life is given up: {error}")
                except (OverError, TakenError) as error:
                    self._end(error)

    def _hear(self, answer: Mapping[str, Any]) -> None:
        if answer["answer"] is not None:
            self._on_answer(answer["answer"])
        if answer["stop"] is not None:
            self._on_stop(answer["stop"])

    def _end(self, error: Exception) -> None:
        if not self._over.is_set():
            self._over.set()
            say(f"this attempt is over for its server: {error}")
            self._on_over()


def _instead_of(message: Message, error: str) -> Message | None:
    """Return the message that stands for a refused one, if its receiver has to know that there was one."""
    match message:
        case Ended():
            return Ended.of(Failed(REMOTE_PROCESS, f"its end could not be stored: {error}"))
        case Lines(lines=lines, dropped=dropped):
            words = f"{counted(len(lines), 'line')} could not be stored: {error}"
            return Lines(lines=[RawLine(time.time(), logging.WARNING, words, None, None)], dropped=dropped + len(lines))
        case _:
            return None
