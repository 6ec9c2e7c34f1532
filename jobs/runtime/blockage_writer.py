"""Reports to all nodes what blocks the event loop of this process' jobs, while that loop can report nothing."""

import asyncio
from collections.abc import Callable

from ..actions.nodes import end_blockage, note_blockage
from ..core.nodes import Node
from ..store.db.database import Database
from .base.service import Service, whenever
from .loop_watch import Blocked


class BlockageWriter(Service):
    """Writes the newest state into the node's row; lives in another event loop than the one that is blocked.

    Args:
        database: Where the node is registered.
        node: Gives this process' node; None as long as there is none.
    """

    def __init__(self, database: Database, node: Callable[[], Node | None]) -> None:
        super().__init__("blockage-writer")
        self._database = database
        self._node = node
        self._loop = asyncio.get_running_loop()
        self._wanted = asyncio.Event()
        self._newest: Blocked | None = None
        self._written: Blocked | None = None

    def blocked(self, blocked: Blocked) -> None:
        """The loop does not turn; safe from any thread, as long as the writer's own loop is open."""
        self._newest = blocked
        self._loop.call_soon_threadsafe(self._wanted.set)

    def free(self) -> None:
        """The loop turns again; as ``blocked``."""
        self._newest = None
        self._loop.call_soon_threadsafe(self._wanted.set)

    async def run(self) -> None:
        """Write what is new until stopped."""
        self._wanted.set()
        await whenever(self._wanted, self._write_newest, service=self)

    async def _write_newest(self) -> None:
        newest, node = self._newest, self._node()
        if newest != self._written and node is not None:
            await self._write(node, newest)
            self._written = newest

    async def _write(self, node: Node, blocked: Blocked | None) -> None:
        if blocked is None:
            await self._database.write(end_blockage, node)
            return
        await self._database.write(
            note_blockage,
            node,
            seconds=blocked.seconds,
            run_id=blocked.run_id,
            job_name=blocked.job_name,
            stack=blocked.stack,
        )
