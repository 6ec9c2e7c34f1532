"""The messages of a node and the child process of a job: bounded frames of JSON over a socket.

A frame is its length in bytes (four of them, big-endian) and that many bytes of JSON. Nothing is pickled: a message
out of a process that runs foreign code is data, and it is checked before anything is made of it.
"""

import dataclasses
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, TypeAdapter, ValidationError

from ...base.context import RunInfo, StopReason
from ...core.flows import FlowSpec
from ...core.model import KEPT_LINES, Json
from ...core.outcome import Cancelled, Failed, HandedBack, JobOutcome, Lost, Snoozed, Succeeded, Suspended, TimedOut
from ...core.run_spec import RunSpec, RunTarget
from ...core.states import RunState
from ...core.steps import StepEnd, StoredStep
from ...core.waits import RunChange, Wait
from ..job.lines import MANY_WAITING, SLOWED_BY, SLOWED_EVERY, RawLine

M = TypeVar("M")


MAX_FRAME = 16 * 1024 * 1024
"""Bytes of the largest frame; arguments, results and checkpoints are bounded far below."""
HEADER = struct.Struct("!I")
"""The length of a frame."""


class FrameError(Exception):
    """Data that is no frame of this protocol; the connection cannot be used any more."""


class Message(BaseModel):
    """Base of all messages."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Begin(Message):
    """Node to child: the job to run; again after it has ended, if the child is used again.

    Attributes:
        qualname: The handler's name in that module.
        info: The facts about the attempt.
        remaining: Seconds of the time box that are left; None = no time box.
        checkpoint: The last one of the task.
        path: Where the child looks for modules.
        log_levels: The levels of the node's loggers by name; "" is the root.
        secrets: Name to value of the secrets in its arguments, to be cut out of the job's output.
        modules: Where its hooks and resources are declared.
        keeps_prints: Its prints are kept with its execution.
        memory: Bytes up to which the child offers to run another one after this; None = it ends.
        may_have_steps: Earlier attempts at the run may have stored steps.
        trace: The span of the attempt, for the data that the job sends to a tracing system; None = nothing is traced.
    """

    kind: Literal["begin"] = "begin"
    module: str
    qualname: str
    info: RunInfo
    remaining: float | None
    checkpoint: Json
    path: list[str]
    log_levels: dict[str, int]
    secrets: dict[str, str] = Field(default_factory=dict, repr=False)
    modules: list[str] = Field(default_factory=list[str])
    keeps_prints: bool = False
    memory: int | None = None
    may_have_steps: bool = False
    grace: float = 10.0
    trace: dict[str, str] | None = None


class Leave(Message):
    """Node to child: there is nothing more to run."""

    kind: Literal["leave"] = "leave"


class Stop(Message):
    """Node to child: please leave."""

    kind: Literal["stop"] = "stop"
    reason: StopReason


class Terminate(Message):
    """Node to child: leave now; it is killed a moment later."""

    kind: Literal["terminate"] = "terminate"


class Answer(Message):
    """Node to child: request ``number`` is carried out, or could not be (``error``).

    Attributes:
        ids: Of the runs that were enqueued, or of the flow alone.
        step: The stored step, or the state of the wait; None = nothing is stored.
        url: The address of a signal.
        state: The state of the run that was changed.
    """

    kind: Literal["answer"] = "answer"
    number: int
    ids: list[int] = Field(default_factory=list[int])
    step: StoredStep | None = None
    url: str | None = None
    state: RunState | None = None
    error: str | None = None


class Lines(Message):
    """Child to node: log lines in order, after ``dropped`` older ones that the child could not keep."""

    kind: Literal["lines"] = "lines"
    lines: list[RawLine]
    dropped: int = Field(default=0, ge=0)


class Progress(Message):
    """Child to node: how far the job is."""

    kind: Literal["progress"] = "progress"
    done: StrictInt | StrictFloat
    total: StrictInt | StrictFloat | None
    message: str | None


class Save(Message):
    """Child to node, which answers: store this checkpoint."""

    kind: Literal["save"] = "save"
    number: int
    value: Json


class Enqueue(Message):
    """Child to node, which answers: put these runs, or this flow, into the queue."""

    kind: Literal["enqueue"] = "enqueue"
    number: int
    runs: list[RunSpec]
    flow: FlowSpec | None = None


class ChangeRun(Message):
    """Child to node, which answers: change this run of the queue."""

    kind: Literal["change_run"] = "change_run"
    number: int
    target: RunTarget
    change: RunChange


class FindStep(Message):
    """Child to node, which answers: read the stored state of this step."""

    kind: Literal["find_step"] = "find_step"
    number: int
    label: str


class KeepStep(Message):
    """Child to node, which answers: store the end of this step."""

    kind: Literal["keep_step"] = "keep_step"
    number: int
    end: StepEnd


class BeginWait(Message):
    """Child to node, which answers: begin this wait, or end it."""

    kind: Literal["begin_wait"] = "begin_wait"
    number: int
    wait: Wait


class MakeSignalUrl(Message):
    """Child to node, which answers: make an address for the signal that this wait takes."""

    kind: Literal["make_signal_url"] = "make_signal_url"
    number: int
    label: str
    page: Any = None


_OUTCOMES: dict[str, TypeAdapter[JobOutcome]] = {
    one.__name__: TypeAdapter[JobOutcome](one)
    for one in (Succeeded, Failed, TimedOut, Cancelled, Snoozed, Suspended, HandedBack, Lost)
}


class Ended(Message):
    """Child to node, last: how the attempt ended (the name of an outcome, its fields), and runs to follow a good end.

    ``again``: the child can run another one. ``took_store``: it imported the store, which its launcher did not have.
    """

    kind: Literal["ended"] = "ended"
    outcome: Literal["Succeeded", "Failed", "TimedOut", "Cancelled", "Snoozed", "Suspended", "HandedBack", "Lost"]
    fields: dict[str, Any]
    at_end: list[RunSpec] = Field(default_factory=list[RunSpec])
    again: bool = False
    took_store: bool = False

    @classmethod
    def of(
        cls, outcome: JobOutcome, at_end: Sequence[RunSpec] = (), *, again: bool = False, took_store: bool = False
    ) -> "Ended":
        """Return the message that carries ``outcome`` and the runs that follow it."""
        name, fields = type(outcome).__name__, dataclasses.asdict(outcome)
        message = {"outcome": name, "fields": fields, "at_end": list(at_end), "again": again}
        message["took_store"] = took_store
        return cls.model_validate(message)

    def value(self) -> JobOutcome:
        """Return the outcome that it carries.

        Raises:
            FrameError: the fields are not those of this outcome.
        """
        try:
            return _OUTCOMES[self.outcome].validate_python(self.fields)
        except ValidationError as error:
            raise FrameError(f"the fields of outcome {self.outcome} do not fit: {error}") from error

    def strict_value(self) -> JobOutcome:
        """Return ``value`` of foreign code: no field of another name, and no number that is a text or a truth value.

        Raises:
            FrameError: the fields are not those of this outcome.
        """
        adapter = _OUTCOMES[self.outcome]
        try:
            found = adapter.validate_json(json.dumps(self.fields), strict=True)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            place = ".".join(["fields", *map(str, fault["loc"])])
            raise FrameError(f"{place}: not of outcome {self.outcome}: {fault['msg']}") from error
        unknown = self.fields.keys() - {field.name for field in dataclasses.fields(found)}
        if unknown:
            raise FrameError(f"fields: outcome {self.outcome} has no {', '.join(sorted(unknown))}")
        return found


Request: TypeAlias = Save | Enqueue | ChangeRun | FindStep | KeepStep | BeginWait | MakeSignalUrl
"""A message that the node answers."""
ToChild: TypeAlias = Begin | Leave | Stop | Terminate | Answer
ToNode: TypeAlias = Lines | Progress | Request | Ended

_TO_CHILD = TypeAdapter[ToChild](Annotated[ToChild, Field(discriminator="kind")])
_TO_NODE = TypeAdapter[ToNode](Annotated[ToNode, Field(discriminator="kind")])


def frame(message: Message) -> bytes:
    """Return a whole frame.

    Raises:
        FrameError: it would be larger than ``MAX_FRAME``.
    """
    body = message.model_dump_json().encode()
    if len(body) > MAX_FRAME:
        raise FrameError(f"a message may have {MAX_FRAME} bytes, got {len(body)}")
    return HEADER.pack(len(body)) + body


def length_of(header: bytes) -> int:
    """Return the number of bytes that follow ``header``.

    Raises:
        FrameError: more than ``MAX_FRAME``.
    """
    (length,) = HEADER.unpack(header)
    if length > MAX_FRAME:
        raise FrameError(f"a message may have {MAX_FRAME} bytes, the next one claims {length}")
    return int(length)


def to_child(body: bytes) -> ToChild:
    """Return the message to a child in ``body``.

    Raises:
        FrameError: it is none.
    """
    return _parsed(_TO_CHILD, body)


def to_node(body: bytes) -> ToNode:
    """Return the message to a node in ``body``.

    Raises:
        FrameError: it is none.
    """
    return _parsed(_TO_NODE, body)


def _parsed(adapter: TypeAdapter[M], body: bytes) -> M:
    try:
        return adapter.validate_json(body)
    except ValidationError as error:
        raise FrameError(f"a message that cannot be read: {error.errors(include_url=False)[0]['msg']}") from error


AT_ONCE = 100
"""Lines of a tenth of a second that are sent at once, so that the last words before a crash arrive."""
PIECE = 250
"""Lines of one message; with ``PAUSE``, this is also how many a talkative job sends in a tenth of a second."""
PAUSE = 0.1
"""Seconds between two messages of gathered lines, and between two about progress."""


class NodeGoneError(Exception):
    """The node closed the connection, or died."""


class Sender(Protocol):
    """Carries the messages of a job out of its process; safe from any thread."""

    def send(self, message: Message) -> None:
        """Send a message; waits while nobody takes it.

        Raises:
            NodeGoneError: nobody takes it any more.
        """
        ...


class Connection:
    """Frames over a blocking socket; sending is safe from any thread."""

    def __init__(self, peer: socket.socket) -> None:
        # Job code may have called socket.setdefaulttimeout: a job without a message would be taken for a lost node.
        peer.settimeout(None)
        self._peer = peer
        self._sending = threading.Lock()

    def send(self, message: Message) -> None:
        """Send a whole message; waits while the node does not read.

        Raises:
            NodeGoneError: nobody reads any more.
        """
        data = frame(message)
        with self._sending:
            try:
                self._peer.sendall(data)
            except OSError as error:
                raise NodeGoneError("the node is gone") from error

    def receive(self) -> bytes:
        """Return the body of the next frame.

        Raises:
            NodeGoneError: there is none any more.
        """
        return self._exactly(length_of(self._exactly(HEADER.size)))

    def _exactly(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            try:
                part = self._peer.recv(count - len(parts))
            except OSError as error:
                raise NodeGoneError("the node is gone") from error
            if not part:
                raise NodeGoneError("the node is gone")
            parts += part
        return bytes(parts)


class Outbox:
    """Sends log lines and progress: slow ones at once, a flood gathered, and of it only the newest.

    A job that writes faster than anybody reads holds up neither itself nor the node, and its memory stays bounded.
    """

    def __init__(self, connection: Sender) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._pending: deque[RawLine] = deque(maxlen=KEPT_LINES)
        self._dropped = 0
        self._taken = 0
        self._window = 0.0
        self._sent = 0
        self._progress: Progress | None = None
        self._progress_at = 0.0
        self._waiting = threading.Event()
        self._sender: threading.Thread | None = None
        self._is_over = False

    def line(self, line: RawLine) -> None:
        """Take a line; safe from any thread."""
        with self._lock:
            if self._is_over:
                return
            if not self._pending and self._may_go_at_once():
                self._connection.send(Lines.model_construct(lines=[line]))
                return
            if len(self._pending) == KEPT_LINES:
                self._dropped += 1
            self._pending.append(line)
            self._taken += 1
            is_too_fast = len(self._pending) >= MANY_WAITING and self._taken % SLOWED_EVERY == 0
            self._wake()
        if is_too_fast:
            # A flood leaves the processor to others now and then.
            time.sleep(SLOWED_BY)

    def progress(self, progress: Progress) -> None:
        """Take a value, which replaces one that waits; safe from any thread."""
        with self._lock:
            if self._is_over:
                return
            self._progress = progress
            if time.monotonic() - self._progress_at >= PAUSE:
                self._send_progress()
            else:
                self._wake()

    def flush(self) -> None:
        """Send all that waits."""
        while self._send_piece():
            pass

    def end(self) -> None:
        """Take nothing more: messages from threads of a run that is over belong to no other run."""
        self.flush()
        with self._lock:
            self._is_over = True
        self._waiting.set()

    def _may_go_at_once(self) -> bool:
        now = time.monotonic()
        if now - self._window >= PAUSE:
            self._window, self._sent = now, 0
        self._sent += 1
        return self._sent <= AT_ONCE

    def _wake(self) -> None:
        if self._sender is None:
            self._sender = threading.Thread(target=self._send_gathered, name="cronograph-outbox", daemon=True)
            self._sender.start()
        self._waiting.set()

    def _send_gathered(self) -> None:
        while not self._is_over:
            self._waiting.wait()
            self._waiting.clear()
            time.sleep(PAUSE)
            if self._send_piece():
                self._waiting.set()

    def _send_piece(self) -> bool:
        """Send progress and the oldest lines; return whether more lines wait."""
        # Within the lock, so that no later line overtakes these.
        with self._lock:
            if self._is_over:
                return False
            if self._progress is not None:
                self._send_progress()
            if not self._pending:
                return False
            lines = [self._pending.popleft() for _ in range(min(PIECE, len(self._pending)))]
            dropped, self._dropped = self._dropped, 0
            self._connection.send(Lines.model_construct(lines=lines, dropped=dropped))
            return bool(self._pending)

    def _send_progress(self) -> None:
        if self._progress is not None:
            self._connection.send(self._progress)
        self._progress, self._progress_at = None, time.monotonic()


NOT_FORKED: Final = 1000
"""The status of a child that could not be forked; no process ends by itself with such a one."""
FAILED: Final = 1
"""The module is not preloaded: its import failed."""
NOT_FOUND: Final = 3
"""The module is not preloaded: a job is not found in it."""
STARTS_THREADS: Final = 2
"""The module is not preloaded: its import starts a thread."""
