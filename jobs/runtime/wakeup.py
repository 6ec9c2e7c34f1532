"""Notifications between nodes: hints that something was committed. A slow poll covers every one that is lost."""

import asyncio
import logging

import psycopg
from psycopg import sql

from ..store.db.database import Database, Listener
from ..store.db.transaction import Wake
from .service import Service

log = logging.getLogger(__name__)

CHANNEL = "cronograph"
_SHORTEST_GAP = 0.1
"""Seconds between two notifications of one node: the first goes out at once, then at most ten a second."""


class Wakeup(Service):
    """Listens on PostgreSQL and tells this process' parts; sends this node's hints, always after the commit.

    SQLite has one process, so there only this process' own commits are announced.
    """

    def __init__(self, database: Database) -> None:
        super().__init__("wakeup")
        self._database = database
        self._parts: list[Listener] = []
        self._pending = Wake.NONE
        self._wanted = asyncio.Event()
        database.on_commit(self._on_commit)

    def tell(self, part: Listener) -> None:
        """Call ``part`` in the event loop whenever some node committed something that may concern it."""
        self._parts.append(part)

    def _on_commit(self, wakes: Wake) -> None:
        self._announce(wakes)
        self._pending |= wakes
        self._wanted.set()

    def _announce(self, wakes: Wake) -> None:
        for part in self._parts:
            part(wakes)

    async def run(self) -> None:
        """Send and receive until stopped."""
        if self._database.is_sqlite:
            return
        async with await self._connect() as sender, await self._connect() as receiver:
            await receiver.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
            # Whatever was notified while nobody listened is found by looking once.
            self._announce(~Wake.NONE)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._receive(receiver, sender.info.backend_pid))
                group.create_task(self._send(sender))

    async def _connect(self) -> psycopg.AsyncConnection[tuple[object, ...]]:
        # Connections of their own: ``notifies()`` blocks its connection, and a hint must not wait for a transaction.
        return await psycopg.AsyncConnection.connect(self._database.libpq_url(), autocommit=True)

    async def _receive(self, connection: psycopg.AsyncConnection[tuple[object, ...]], own: int) -> None:
        async for notification in connection.notifies():
            # This process' own parts were told right after the commit.
            if notification.pid != own and notification.payload.isdigit():
                self._announce(Wake(int(notification.payload) & (~Wake.NONE).value))
        raise ConnectionError("the database closed the connection that listens for notifications")

    async def _send(self, connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            wakes, self._pending = self._pending, Wake.NONE
            if wakes:
                await connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, str(wakes.value)))
            await asyncio.sleep(_SHORTEST_GAP)
