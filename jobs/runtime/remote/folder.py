"""Speak through a folder that an engine shares with the nodes, where code there reaches no server.

The folder of an attempt has:

- ``start``: the data that its code gets when it begins. The first process takes it away, so a second one finds nothing.
- ``out.1``, ``out.2``, …: the messages of the code, one a line; an empty line is a sign of life. The node removes each
  file once all of it is stored and the next one has begun, and the code waits while too many are left.
- ``in``: the number of the last message that the node has answered, that answer, and why the code should stop.

Nothing is half read, even if a process or a machine breaks off: the last line counts once its end is there, and the
others replace a file.
"""

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from .speaking import TIMEOUT, Channel, OverError, TakenError

_START, _OUT, _IN = "start", "out.", "in"
_PIECE: Final = 1024 * 1024
_PIECES: Final = 64
_PAUSE, _LONGEST_PAUSE = 0.02, 1.0
"""Seconds between two looks for an answer: the first, and the longest."""
_FULL_PAUSE: Final = 0.2
"""Seconds after which a disk that was full is tried again."""
_SIGNS: Final = 64
"""Bytes in which it is looked whether they are signs of life alone."""
_ONLY_ME: Final = 0o600


def _replace(path: Path, document: Mapping[str, Any]) -> None:
    """Write a file that is seen whole or not at all."""
    new = path.with_name(f"{path.name}.new")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _ONLY_ME)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        json.dump(document, file)
    new.replace(path)


class FolderChannel(Channel):
    """The code's side; safe from any thread.

    Args:
        piece: Bytes after which a file of messages is followed by the next one.
        pieces: Files of messages that may be left to be read.
        patience: Seconds after which a request is said again.
    """

    def __init__(self, folder: Path, *, piece: int = _PIECE, pieces: int = _PIECES, patience: float = TIMEOUT) -> None:
        self._folder = folder
        self._piece = piece
        self._pieces = pieces
        self._patience = patience
        self._lock = threading.Lock()
        self._number = 1

    @override
    def once(self, verb: str, document: Mapping[str, Any], is_over: Callable[[], bool]) -> dict[str, Any]:
        """Take the start away, or write a message and, if it asks for something, wait for its answer."""
        if verb == "start":
            return self._start(document)
        if verb == "heartbeat":
            self._append(b"\n", is_over)
            return self._heard(None)
        self._append(json.dumps(document).encode() + b"\n", is_over)
        return self._heard(document["sequence"] if "number" in document["message"] else None, is_over)

    @override
    def close(self) -> None:
        """Do nothing: no file is held open."""

    def _start(self, document: Mapping[str, Any]) -> dict[str, Any]:
        mine = self._folder / f"{_START}.{document['starter']}"
        try:
            (self._folder / _START).rename(mine)
        except FileNotFoundError:
            # A shared file system may have done so, and lost the answer.
            if not mine.exists():
                self._refuse()
        begun: dict[str, Any] = json.loads(mine.read_bytes())
        self._append(json.dumps(document).encode() + b"\n", lambda: False)
        mine.unlink()
        return _timed(begun)

    def _refuse(self) -> None:
        if self._folder.is_dir():
            raise TakenError("another process has begun this attempt")
        raise OverError(f"there is no folder {self._folder}")

    def _append(self, line: bytes, is_over: Callable[[], bool]) -> None:
        with self._lock:
            file = self._open()
            try:
                written = os.write(file, line)
                while written < len(line):
                    # The disk is full in the middle of a line: nothing else may come before the rest of it.
                    try:
                        written += os.write(file, line[written:])
                    except OSError as error:
                        if is_over():
                            raise OverError(str(error)) from error
                        time.sleep(_FULL_PAUSE)
            finally:
                os.close(file)

    def _open(self) -> int:
        path = self._folder / f"{_OUT}{self._number}"
        try:
            if path.exists() and path.stat().st_size >= self._piece:
                oldest = self._folder / f"{_OUT}{self._number + 1 - self._pieces}"
                if oldest.exists():
                    raise OSError(f"nobody has read {oldest} yet")
                self._number += 1
                path = self._folder / f"{_OUT}{self._number}"
            return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _ONLY_ME)
        except FileNotFoundError as error:
            raise OverError(f"there is no folder {self._folder}") from error

    def _heard(self, sequence: int | None, is_over: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """Read the answer to a message; without a number only whether the code should stop."""
        until, pause = time.monotonic() + self._patience, _PAUSE
        while True:
            heard = self._read()
            if sequence is None or heard["sequence"] >= sequence:
                return {"answer": None if sequence is None else heard["answer"], "stop": heard["stop"]}
            if is_over() or not self._folder.is_dir():
                raise OverError(f"there is no folder {self._folder}")
            if time.monotonic() >= until:
                # It is said again: nobody is known to have read it.
                raise TimeoutError("no node has answered")
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def _read(self) -> dict[str, Any]:
        try:
            heard: dict[str, Any] = json.loads((self._folder / _IN).read_bytes())
        except FileNotFoundError:
            return {"sequence": 0, "answer": None, "stop": None}
        return heard


def _timed(begun: dict[str, Any]) -> dict[str, Any]:
    """Count the time box from now, by the clock of the engine: nobody knew when the code would begin."""
    now, begin = datetime.now(UTC), begun["begin"]
    ends = [now + timedelta(seconds=begun["timeout"])] if begun["timeout"] is not None else []
    ends += [datetime.fromisoformat(begun["deadline"])] if begun["deadline"] is not None else []
    if ends:
        begin["info"]["deadline"] = min(ends).isoformat()
        begin["remaining"] = max(0.0, (min(ends) - now).total_seconds())
    return begun


class News(Enum):
    """Name the news in a box."""

    NONE = auto()
    SIGNS = auto()
    LINES = auto()


class Box:
    """The node's side of the folder of one attempt.

    Args:
        piece: Bytes of a file of messages below which no next one has begun.
    """

    def __init__(self, folder: Path, *, piece: int = _PIECE) -> None:
        self._folder = folder
        self._piece = piece
        self._number: int | None = None
        self._file = ""
        self._place = 0

    def place(self, start: Mapping[str, Any]) -> None:
        """Make the folder, for this user alone, with the data for its code when it begins."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        _replace(self._folder / _START, start)

    def skim(self) -> "News":
        """Pass over signs of life if nothing else is there; return whether there are any, or lines to read."""
        unread = self._unread()
        if not unread:
            return News.NONE
        if unread <= _SIGNS:
            file = os.open(self._file, os.O_RDONLY)
            try:
                found = os.pread(file, unread, self._place)
            finally:
                os.close(file)
            if not found.strip(b"\n"):
                self._place += len(found)
                return News.SIGNS
        return News.LINES

    def lines(self) -> list[bytes]:
        """Return the lines that were not ``taken``: whole ones, of one file; an empty one is a sign of life."""
        if not self._unread():
            return []
        with Path(self._file).open("rb") as file:
            file.seek(self._place)
            *whole, _unfinished = file.read().split(b"\n")
        return whole

    def _unread(self) -> int:
        """Return how many bytes are left in a file; if none are, remove it once the next one has begun."""
        try:
            if self._number is None and not self._find():
                return 0
            # Asked of thousands of boxes every few seconds.
            size = os.stat(self._file).st_size  # noqa: PTH116
        except FileNotFoundError:
            if self._is_gone():
                return 0
            raise
        if size <= self._place and size >= self._piece and self._path((self._number or 0) + 1).exists():
            # All of it is stored, and nothing is written there any more.
            Path(self._file).unlink()
            self._begin((self._number or 0) + 1)
            return self._unread()
        return size - self._place

    def _is_gone(self) -> bool:
        """Return whether there is no folder: a node died before it had made it, or somebody has removed it.

        Its code, if there is any, leaves by itself then. Without the folder around it nobody knows.
        """
        return self._folder.parent.is_dir() and not self._folder.exists()

    def taken(self, line: bytes) -> None:
        """Go on behind a line, which is stored."""
        self._place += len(line) + 1

    def _find(self) -> bool:
        """Begin with the oldest file that is left; its lines that are stored already are passed over by number."""
        names = [one.name.removeprefix(_OUT) for one in self._folder.iterdir() if one.name.startswith(_OUT)]
        number = min((int(one) for one in names if one.isdecimal()), default=None)
        if number is not None:
            self._begin(number)
        return number is not None

    def _begin(self, number: int) -> None:
        self._number, self._place, self._file = number, 0, str(self._path(number))

    def _path(self, number: int) -> Path:
        return self._folder / f"{_OUT}{number}"

    def answer(self, sequence: int, answer: object, stop: str | None) -> None:
        """Write the answer that its code waits for."""
        _replace(self._folder / _IN, {"sequence": sequence, "answer": answer, "stop": stop})

    def remove(self) -> None:
        """Remove the folder: code that is still at work learns so that it is over."""
        if self._folder.exists():
            shutil.rmtree(self._folder)
