"""One thread that works for several parties in turn: who asks for much does not make the others wait for all of it."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
_Piece = tuple[Future[Any], Callable[[], Any]]


class FairThread:
    """Does one piece of work at a time: one of each party in turn, those of one party in their order."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, name)
        self._lock = threading.Lock()
        # The parties that wait, in the order of their turns.
        self._waiting: dict[str, deque[_Piece]] = {}

    def submit(self, party: str, work: Callable[[], T]) -> Future[T]:
        """Have ``work`` done when it is the party's turn; safe from any thread.

        Raises:
            RuntimeError: the thread was closed.
        """
        future: Future[T] = Future()
        with self._lock:
            # Every order to the pool does one piece, not necessarily the one that it came with.
            self._pool.submit(self._do_next)
            self._waiting.setdefault(party, deque()).append((future, work))
        return future

    def _do_next(self) -> None:
        with self._lock:
            party = next(iter(self._waiting))
            pieces = self._waiting.pop(party)
            future, work = pieces.popleft()
            if pieces:
                self._waiting[party] = pieces
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the caller that waits for the future gets it
            future.set_exception(error)

    def close(self) -> None:
        """Do what was asked for, and end. Closing twice is fine."""
        self._pool.shutdown()
