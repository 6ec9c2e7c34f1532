"""Guard the output of this process: hide the secrets of jobs and, if asked, keep prints with their execution.

``current_host`` says in whose job something is written. What was written outside of any job, or after its end, may
still tell of a secret: a thread without context, a traceback of a task that nobody awaited.
"""

import io
import logging
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO, Final, TextIO, TypeAlias, cast

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
    """Text that a job with secrets writes piece by piece: what may be half of one waits for the rest of it."""

    def __init__(self, redactor: Redactor, keep: Show) -> None:
        self._redactor = redactor
        self._keep = keep
        self._held: dict[tuple[Show, bool], str] = {}
        self._ended = False
        self._lock = threading.Lock()

    def write(self, text: str, show: Show, *, keep: bool) -> None:
        """Show, and keep if asked, what is certain by now; safe from any thread."""
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
        """Write what still waits, as the job has ended."""
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
        keeps: Whether what jobs print is kept with their executions as well.
    """

    def __init__(self, show: Show) -> None:
        self._show = show
        self.keeps = False

    def say(self, text: str) -> None:
        """Show text without secrets, and keep it with the job that runs in this context if that is asked for."""
        host = current_host.get()
        if host is None:
            self._without_secrets(text)
        else:
            host.printed(text, self._without_secrets, keep=self.keeps)

    def _without_secrets(self, text: str) -> None:
        self._show(IN_USE.text(text))


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

    def keep(self) -> None:
        """Start to keep what is printed."""
        self._guarded.keeps = True

    @override
    def write(self, text: str, /) -> int:
        """Write what is no secret."""
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
        """Write what is no secret; bytes that are no text pass as they are."""
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


def guard_output() -> None:
    """Start to cut secrets out of standard output and error; for the life of the process.

    Handlers of ``logging`` that write there already go along. Doing it again changes nothing.
    """
    for name in ("stdout", "stderr"):
        original = getattr(sys, name)
        if original is None or isinstance(original, GuardedStream):
            continue
        guarded = GuardedStream(original)
        setattr(sys, name, guarded)
        if getattr(sys, f"__{name}__") is original:
            setattr(sys, f"__{name}__", guarded)
        for handler in _stream_handlers():
            if handler.stream is original:
                handler.setStream(cast("TextIO", guarded))


def _stream_handlers() -> list[logging.StreamHandler[Any]]:
    root = logging.getLogger()
    loggers = [root, *(one for one in root.manager.loggerDict.values() if isinstance(one, logging.Logger))]
    return [one for logger in loggers for one in logger.handlers if isinstance(one, logging.StreamHandler)]


def let_prints_belong_to_jobs() -> None:
    """Start to keep what jobs print to standard output as well. Doing it again changes nothing."""
    guard_output()
    cast("GuardedStream", sys.stdout).keep()


def prints_belong_to_jobs() -> bool:
    """Return whether prints of jobs are kept with their executions."""
    return isinstance(sys.stdout, GuardedStream) and sys.stdout.keeps
