"""What a job prints is kept with its execution, if asked: line by line, by whom ``current_host`` says."""

import io
import sys
import threading
from typing import Final, TextIO

from typing_extensions import override

from ...context import current_host

LONGEST: Final = 8_192
"""Characters of a line that has no end; then it is taken for one."""


class Lines:
    """Text that is printed piece by piece, as the lines that it makes; safe from any thread."""

    def __init__(self) -> None:
        self._text = ""
        self._lock = threading.Lock()

    def take(self, text: str) -> list[str]:
        """The lines that are whole now."""
        with self._lock:
            *lines, self._text = (self._text + text).split("\n")
            if len(self._text) > LONGEST:
                lines.append(self._text)
                self._text = ""
        return lines

    def rest(self) -> list[str]:
        """What is left of a last line without an end."""
        with self._lock:
            text, self._text = self._text, ""
        return [text] if text else []


class JobPrints(io.TextIOBase):
    """Standard output that also gives jobs what they print; whatever else is asked of it, the original answers.

    Args:
        original: Where all of it goes as before.
    """

    def __init__(self, original: TextIO) -> None:
        self._original = original

    @override
    def write(self, text: str, /) -> int:
        """Write, and keep it with the job that runs in this context."""
        host = current_host.get()
        if host is not None:
            host.printed(text)
        return self._original.write(text)

    @override
    def flush(self) -> None:
        """Flush the original."""
        self._original.flush()

    @override
    def fileno(self) -> int:
        """That of the original."""
        return self._original.fileno()

    @override
    def isatty(self) -> bool:
        """Whether the original is a terminal."""
        return self._original.isatty()

    @override
    def writable(self) -> bool:
        """It is."""
        return True

    @property
    @override
    def encoding(self) -> str:  # type: ignore[override]
        """That of the original."""
        return self._original.encoding


def let_prints_belong_to_jobs() -> None:
    """From now on keep what jobs print; for the life of the process. Doing it again changes nothing."""
    if not isinstance(sys.stdout, JobPrints):
        sys.stdout = JobPrints(sys.stdout)


def prints_belong_to_jobs() -> bool:
    """Whether that was done."""
    return isinstance(sys.stdout, JobPrints)
