"""A connection of the bare driver that ends when the task that waits on it is cancelled."""

from typing import Any

import psycopg
from psycopg import waiting
from psycopg.abc import RV, PQGen
from psycopg.rows import TupleRow
from typing_extensions import override

_EVERY = 0.1
"""Seconds after which psycopg looks whether it was interrupted, as in its own ``wait``."""


class CancellableConnection(psycopg.AsyncConnection[TupleRow]):
    """Hangs up where psycopg would ask the server to cancel the statement and wait for that, twice five seconds.

    The statement may still take effect, as any whose answer is lost.
    """

    @override
    async def wait(self, gen: PQGen[RV], interval: float = _EVERY, timeout: float | None = None) -> RV:
        """Wait for an answer; a cancel closes the connection."""
        try:
            return await waiting.wait_async(gen, self.pgconn.socket, interval=interval, timeout=timeout)
        except BaseException as error:
            if not isinstance(error, Exception):
                self.pgconn.finish()
            raise


async def connect(address: str, **arguments: Any) -> CancellableConnection:
    """Return a new connection, each of whose statements is a transaction.

    Args:
        address: As libpq takes it.
        arguments: Further ones of psycopg and libpq.
    """
    return await CancellableConnection.connect(address, autocommit=True, **arguments)
