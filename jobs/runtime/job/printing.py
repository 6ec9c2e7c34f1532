"""Guard the output of this process: hide the secrets of jobs and, if asked, keep prints with their execution.

``current_host`` says in whose job something is written. Text written outside of any job, or after its end, may
still tell of a secret: a thread without context, a traceback of a task that nobody awaited.
"""

import io
import logging
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO, ClassVar, Final, TextIO, TypeAlias, cast

from typing_extensions import override

from ...base.context import current_host
from ...base.hiding import IN_USE, Redactor

LONGEST: Final = 8_192
"""Characters of a line that has no end; then it is taken for one."""
MOST_HELD: Final = 262_144
"""Characters that may wait because they may be the beginning of a secret."""

Show: TypeAlias = Callable[[str], object]
"""Writes text where it is seen."""


class Lines:
    """Text that is printed piece by piece, as the lines that it makes; safe from any thread."""

    def __init__(self) -> None:
        self._text = ""
        self._lock = threading.Lock()

    def take(self, text: str) -> list[str]:
        """Return the lines that are whole now."""
        with self._lock:
            *lines, self._text = (self._text + text).split("\n")
            if len(self._text) > LONGEST:
                lines.append(self._text)
                self._text = ""
        return lines

    def rest(self) -> list[str]:
        """Return the rest: a last line without an end."""
        with self._lock:
            text, self._text = self._text, ""
        return [text] if text else []


class Pieces:
    """Text that a job with secrets writes piece by piece: a possible half of one waits for the rest of it."""

    def __init__(self, redactor: Redactor, keep: Show) -> None:
        self._redactor = redactor
        self._keep = keep
        self._held: dict[tuple[Show, bool], str] = {}
        self._ended = False
        self._lock = threading.Lock()

    def write(self, text: str, show: Show, *, keep: bool) -> None:
        """Show, and keep if asked, the text that is certain by now; safe from any thread."""
        with self._lock:
            whole = self._held.pop((show, keep), "") + text
            if self._ended or len(whole) > MOST_HELD:
                ready = self._redactor.text(whole)
            else:
                ready, held = self._redactor.split(whole)
                if held:
                    self._held[show, keep] = held
        if ready:
            self._say(ready, show, keep=keep)

    def end(self) -> None:
        """Write the text that still waits, as the job has ended."""
        with self._lock:
            held, self._held, self._ended = self._held, {}, True
        for (show, keep), text in held.items():
            self._say(self._redactor.text(text), show, keep=keep)

    def _say(self, text: str, show: Show, *, keep: bool) -> None:
        if keep:
            self._keep(text)
        show(text)


class _Guarded:
    """The common part of standard output and of its bytes.

    Attributes:
        keeps: Whether prints of jobs are kept with their executions as well.
    """

    def __init__(self, show: Show) -> None:
        self._show = show
        self.keeps = False

    def say(self, text: str) -> None:
        """Show text without secrets, and keep it with the job that runs in this context if that is asked for."""
        host = current_host.get()
        if _passing.on:
            # Job code has put something of its own between two such streams: the outer one has kept it.
            self._show(text)
        elif host is None:
            self._without_secrets(text)
        else:
            host.printed(text, self._without_secrets, keep=self.keeps)

    def _without_secrets(self, text: str) -> None:
        _passing.on = True
        try:
            self._show(IN_USE.text(text))
        finally:
            _passing.on = False


class _Passing(threading.local):
    """Remembers that this thread is just handing on text that a stream has taken."""

    on = False


_passing: Final = _Passing()


class GuardedStream(io.TextIOBase):
    """Standard output or error without the secrets of jobs; all else, its end too, is left to the original."""

    def __init__(self, original: TextIO) -> None:
        self._original = original
        self._guarded = _Guarded(original.write)
        self._bytes: GuardedBytes | None = None

    @property
    def keeps(self) -> bool:
        """Return whether the prints of jobs are kept with their executions."""
        return self._guarded.keeps

    @property
    def is_over(self) -> bool:
        """Return whether the original is closed."""
        return self._original.closed

    def keep(self) -> None:
        """Start to keep printed text."""
        self._guarded.keeps = True

    @override
    def write(self, text: str, /) -> int:
        """Write the text that is no secret."""
        self._guarded.say(text)
        return len(text)

    @property
    def buffer(self) -> "GuardedBytes":
        """The same for bytes."""
        if self._bytes is None:
            self._bytes = GuardedBytes(self._original.buffer)
        return self._bytes

    @override
    def flush(self) -> None:
        self._original.flush()

    @override
    def close(self) -> None: ...

    @override
    def fileno(self) -> int:
        return self._original.fileno()

    @override
    def isatty(self) -> bool:
        return self._original.isatty()

    @override
    def writable(self) -> bool:
        return True

    @property
    @override
    def encoding(self) -> str:  # type: ignore[override]
        return self._original.encoding

    @property
    @override
    def errors(self) -> str | None:  # type: ignore[override]
        return self._original.errors

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - anything the original has
        return getattr(self._original, name)


class GuardedBytes(io.RawIOBase):
    """The bytes below such a stream, by the same rules; they are not kept with executions."""

    def __init__(self, original: BinaryIO) -> None:
        self._original = original
        self._guarded = _Guarded(self._write)

    @override
    def write(self, data: Any, /) -> int:
        """Write the text that is no secret; bytes that are no text pass as they are."""
        found = bytes(data)
        self._guarded.say(found.decode("utf-8", "surrogateescape"))
        return len(found)

    def _write(self, text: str) -> None:
        self._original.write(text.encode("utf-8", "surrogateescape"))

    @override
    def flush(self) -> None:
        self._original.flush()

    @override
    def close(self) -> None: ...

    @override
    def writable(self) -> bool:
        return True

    @override
    def fileno(self) -> int:
        return self._original.fileno()


class _Output:
    """The streams of this process, by their names in ``sys``, and whether prints are kept with executions."""

    guarded: ClassVar[dict[str, GuardedStream]] = {}
    keeps: ClassVar[bool] = False


def guard_output(*, keeps_prints: bool | None = None) -> None:
    """Start to cut secrets out of standard output and error; for the life of the process.

    Handlers of ``logging`` that write there already go along. Doing it again guards a stream that job code put in place
    of these streams since; if that is closed or nothing, they are put back.

    Args:
        keeps_prints: Whether prints of jobs to standard output are also kept with their executions; as it is unless
            given, at first it is not.
    """
    if keeps_prints is not None:
        _Output.keeps = keeps_prints
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, GuardedStream):
            own = _Output.guarded.get(name)
            if stream is None or getattr(stream, "closed", False):
                stream = own
            else:
                stream = _guarded(name, stream)
                if own is None or own.is_over:
                    _Output.guarded[name] = stream
            setattr(sys, name, stream)
        if name == "stdout" and stream is not None and _Output.keeps:
            stream.keep()


def guard_replaced_output() -> None:
    """Guard the output again if it was guarded in this process: before the code of a job begins."""
    if _Output.guarded:
        guard_output()


def _guarded(name: str, original: TextIO) -> GuardedStream:
    guarded = GuardedStream(original)
    if getattr(sys, f"__{name}__") is original:
        setattr(sys, f"__{name}__", guarded)
    for handler in _stream_handlers():
        if handler.stream is original:
            handler.setStream(cast("TextIO", guarded))
    return guarded


def _stream_handlers() -> list[logging.StreamHandler[Any]]:
    root = logging.getLogger()
    loggers = [root, *(one for one in root.manager.loggerDict.values() if isinstance(one, logging.Logger))]
    return [one for logger in loggers for one in logger.handlers if isinstance(one, logging.StreamHandler)]


def prints_belong_to_jobs() -> bool:
    """Return whether text printed now is kept with executions."""
    return isinstance(sys.stdout, GuardedStream) and sys.stdout.keeps


def keeps_prints() -> bool:
    """Return whether prints of jobs are kept with their executions, also if job code has replaced standard output."""
    return _Output.keeps
