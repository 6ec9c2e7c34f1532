"""Notifications between nodes: hints that something was committed. A slow poll covers every one that is lost."""

import asyncio
import logging
import threading
from functools import partial
from typing import TYPE_CHECKING

from ...core.base.lazy import LazyModule
from ...store.db.database import Database, Listener
from ...store.db.faults import log_fault
from ...store.db.transaction import Wake
from .service import Service, whenever

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql
else:
    sql = LazyModule("psycopg.sql")

log = logging.getLogger(__name__)

_SHORTEST_GAP = 0.1
"""Seconds between two notifications of one node: the first goes out at once, then at most ten a second."""

_LOOK_AT_FILE = 0.025
"""Seconds between two looks whether another process has written to a file of SQLite: each takes some microseconds."""


class _SubscribedParts:
    """The parts that live in one event loop.

    Hints of that loop reach them at once, hints of other threads by one call of the loop, however many they are: a loop
    that is busy is not made busier.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.parts: list[Listener] = []
        self._waiting = Wake.NONE
        self._lock = threading.Lock()
        self._closed = False

    def announce(self, wakes: Wake) -> None:
        """Wake every part, from any thread that runs an event loop."""
        if asyncio.get_running_loop() is self.loop:
            self._notify(wakes)
            return
        with self._lock:
            if self._closed:
                return
            under_way, self._waiting = bool(self._waiting), self._waiting | wakes
            if not under_way:
                self.loop.call_soon_threadsafe(self._deliver)

    def close(self) -> None:
        """Call this loop no more: it may be closed from now on."""
        with self._lock:
            self._closed = True

    def _deliver(self) -> None:
        with self._lock:
            wakes, self._waiting = self._waiting, Wake.NONE
        self._notify(wakes)

    def _notify(self, wakes: Wake) -> None:
        for part in self.parts:
            try:
                part(wakes)
            except Exception as error:
                log_fault(log, f"{getattr(part, '__qualname__', part)} failed on a hint", error)


class Wakeup(Service):
    """Listens on PostgreSQL and notifies this process' parts; sends this node's hints, always after the commit.

    On SQLite the commits of others are not announced: a process asks the file for them, and cannot know their
    subject. Parts may live in several event loops, commits happen in any of them: each part is called in the loop in
    which it subscribed.
    """

    def __init__(self, database: Database) -> None:
        super().__init__("wakeup")
        self._database = database
        # Several installations in one database do not wake each other.
        self._channel = database.schema
        self._subscriptions: tuple[_SubscribedParts, ...] = ()
        self._pending = Wake.NONE
        self._has_announced = False
        self._wanted = asyncio.Event()
        # What this process committed is sent from this loop, whichever loop it was committed in.
        self._sender = _SubscribedParts(asyncio.get_running_loop())
        self._sender.parts.append(self._note)
        database.on_commit(self._on_commit)

    def subscribe(self, part: Listener) -> None:
        """Call ``part`` in the running event loop whenever some node committed something that may concern it."""
        loop = asyncio.get_running_loop()
        subscribed = next((one for one in self._subscriptions if one.loop is loop), None)
        if subscribed is None:
            subscribed = _SubscribedParts(loop)
            self._subscriptions = (*self._subscriptions, subscribed)
        subscribed.parts = [*subscribed.parts, part]

    def unsubscribe(self, part: Listener) -> None:
        """Call ``part`` no more; with the last one of a loop gone, that may be closed. Forgetting twice is fine."""
        for subscribed in self._subscriptions:
            subscribed.parts = [one for one in subscribed.parts if one != part]
            if not subscribed.parts:
                subscribed.close()
        self._subscriptions = tuple(one for one in self._subscriptions if one.parts)

    def _on_commit(self, wakes: Wake) -> None:
        self._has_announced = True
        self._announce(wakes)
        if not self._database.is_sqlite:
            self._sender.announce(wakes)

    def _note(self, wakes: Wake) -> None:
        self._pending |= wakes
        self._wanted.set()

    def _announce(self, wakes: Wake) -> None:
        for subscribed in self._subscriptions:
            subscribed.announce(wakes)

    async def run(self) -> None:
        """Send and receive until stopped; behind a pooler nobody can listen, and the slow poll has to do."""
        if self._database.is_sqlite:
            await self._follow_file()
        if self._database.is_pooled:
            return
        async with await self._connect() as sender, await self._connect() as receiver:
            await receiver.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
            # What was notified while nobody listened is found by looking once.
            self._announce(~Wake.NONE)
            self.passed()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._receive(receiver, sender.info.backend_pid))
                group.create_task(whenever(self._wanted, partial(self._send, sender), pause=lambda: _SHORTEST_GAP))

    async def _follow_file(self) -> None:
        seen, mine = self._database.version(), self._database.own_transactions()
        while True:
            await asyncio.sleep(_LOOK_AT_FILE)
            version = self._database.version()
            if version is None or version == seen:
                continue
            # What this process has announced itself needs no look; others may have enqueued or cancelled meanwhile. A
            # heartbeat is announced to nobody, and must not lead to the next one.
            own, mine = self._database.own_transactions() != mine, self._database.own_transactions()
            announced, self._has_announced, seen = self._has_announced, False, version
            self._announce(Wake.RUNS | Wake.CANCEL if announced else ~Wake.NODES if own else ~Wake.NONE)
            self.passed()

    async def _connect(self) -> "psycopg.AsyncConnection[tuple[object, ...]]":
        # Connections of their own: one is read past psycopg, and a hint must not wait for a transaction.
        return await self._database.plain_connection()

    async def _receive(self, connection: "psycopg.AsyncConnection[tuple[object, ...]]", own: int) -> None:
        # Not by ``notifies()``, which wakes up ten times a second to see whether it was interrupted.
        arrived, wire, loop = asyncio.Event(), connection.pgconn, asyncio.get_running_loop()
        socket = wire.socket
        loop.add_reader(socket, arrived.set)
        try:
            while True:
                await arrived.wait()
                arrived.clear()
                # Fails once the connection is lost.
                wire.consume_input()
                while (notification := wire.notifies()) is not None:
                    # This process' own parts were notified right after the commit.
                    if notification.be_pid != own and notification.extra.isdigit():
                        self._announce(Wake(int(notification.extra) & (~Wake.NONE).value))
        finally:
            loop.remove_reader(socket)

    async def _send(self, connection: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
        wakes, self._pending = self._pending, Wake.NONE
        if wakes:
            await connection.execute("SELECT pg_notify(%s, %s)", (self._channel, str(wakes.value)))
