"""Hashing passwords with argon2id, off the event loop, a few at a time."""

import asyncio
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

from ...graphql.base.errors import UserFacingError

T = TypeVar("T")

HASHER: Final = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
"""The parameters that OWASP recommends: 19 MiB and some 20 ms for each password."""

AT_ONCE: Final = 2
"""Passwords that are hashed side by side: the others wait, so that a flood of them leaves the processor to others."""

MOST_WAITING: Final = 50
"""Passwords that may wait; about what is checked in a second."""

NICENESS: Final = 5
"""By so much the threads that hash step back behind all others where processors are scarce; Linux knows this for a
thread, others only for a whole process."""

DUMMY: Final = HASHER.hash("nobody has this password")
"""Verified for names without an account, so that the time of an answer does not tell who exists."""


class Passwords:
    """Hashes and verifies."""

    def __init__(self) -> None:
        step_back = partial(os.nice, NICENESS) if sys.platform == "linux" else None
        self._threads = ThreadPoolExecutor(AT_ONCE, "cronograph-passwords", initializer=step_back)
        self._open = 0

    async def hash(self, password: str) -> str:
        """The hash to be stored.

        Raises:
            UserFacingError: ``BUSY``: too many are waiting.
        """
        return await self._run(HASHER.hash, password)

    async def verify(self, stored: str | None, password: str) -> bool:
        """Return whether a password is the one behind a hash; with None it takes as long, and is not.

        Raises:
            UserFacingError: ``BUSY``: too many are waiting.
        """
        return await self._run(_verified, stored or DUMMY, password) and stored is not None

    async def _run(self, work: Callable[..., T], *args: str) -> T:
        if self._open >= MOST_WAITING:
            message = "Too many people sign in just now; try again in a few seconds."
            raise UserFacingError(message, code="BUSY", http_status=503)
        self._open += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *args)
        finally:
            self._open -= 1

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()


def _verified(stored: str, password: str) -> bool:
    try:
        return HASHER.verify(stored, password)
    except VerificationError:
        return False
