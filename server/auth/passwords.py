"""Hashing passwords with argon2id, off the event loop, a few at a time."""

import asyncio
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import TYPE_CHECKING, Final, TypeVar

from ...graphql.base.errors import UserFacingError
from ...jobs.core.base.lazy import LazyModule

if TYPE_CHECKING:
    import argon2
else:
    # Of no use to a server at which nobody signs in by a password.
    argon2 = LazyModule("argon2")

T = TypeVar("T")

AT_ONCE: Final = 2
"""Passwords that are hashed side by side: the others wait, so that a flood of them leaves the processor to others."""

MOST_WAITING: Final = 50
"""Passwords that may wait; about what is checked in a second."""

NICENESS: Final = 5
"""By so much the threads that hash step back behind all others where processors are scarce; Linux knows this for a
thread, others only for a whole process."""

DUMMY: Final = "$argon2id$v=19$m=19456,t=2,p=1$180ePQy432C9eV2lj+YdTg$1vQSzYZ95kpmvqpRkXr98ByZns9xGn+41Su4DgirXdI"
"""The hash of a random text, verified for names without an account: the time of an answer does not tell who exists."""


@cache
def hasher() -> "argon2.PasswordHasher":
    """Return the parameters that OWASP recommends: 19 MiB and some 20 ms for each password."""
    return argon2.PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


class Passwords:
    """Hashes and verifies."""

    def __init__(self) -> None:
        step_back = partial(os.nice, NICENESS) if sys.platform == "linux" else None
        self._threads = ThreadPoolExecutor(AT_ONCE, "cronograph-passwords", initializer=step_back)
        self._open = 0

    async def hash(self, password: str) -> str:
        """Return the hash to be stored.

        Raises:
            UserFacingError: ``BUSY``: too many are waiting.
        """
        return await self._run(_hashed, password)

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


def _hashed(password: str) -> str:
    return hasher().hash(password)


def _verified(stored: str, password: str) -> bool:
    try:
        return hasher().verify(stored, password)
    except argon2.exceptions.VerificationError:
        return False
