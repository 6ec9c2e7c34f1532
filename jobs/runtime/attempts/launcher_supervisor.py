"""Sees that a node has child processes to give: without them the runs that need one wait, and nobody is to blame."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from ...actions.nodes import note_launcher_fault
from ...core.model import Isolation
from ...core.nodes import Node
from ...store.db.database import Database
from ..base.backoff import Backoff
from ..process.children import ChildPool
from ..process.spawner import LauncherError, Spawner
from .capacity import Capacity

log = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0
"""Seconds until it is tried again to have child processes; doubled as long as there are none."""


class LauncherSupervisor:
    """The launcher of a node's child processes, started again as often as it is lost.

    Args:
        database: Where the node says why it has none.
        node: The node.
        capacity: Takes runs of process jobs only while a child process is available at once: their timeouts start with
            the claim.
        spawner: Starts launcher and children.
        size: How many children there may be.
        look_again: Called when there are some.
        lease: Seconds that a child may be stopped, as a node may.

    Attributes:
        children: Hands them out.
    """

    def __init__(
        self,
        database: Database,
        node: Node,
        capacity: Capacity,
        spawner: Spawner,
        size: int,
        look_again: Callable[[], None],
        *,
        lease: float,
    ) -> None:
        self._database = database
        self._node = node
        self._capacity = capacity
        self._spawner = spawner
        self._look_again = look_again
        self._lease = lease
        self._trouble: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._noted: str | None = None
        self.children = ChildPool(spawner, size, on_shortage=self._run_short)
        capacity.close(Isolation.PROCESS)

    async def supervise(self) -> None:
        """Keep child processes at hand, for ever."""
        backoff, loop = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE), asyncio.get_running_loop()
        while True:
            self._trouble = loop.create_future()
            fault, began = await self._fault(), loop.time()
            await self._note(fault)
            if fault is None:
                self._capacity.open(Isolation.PROCESS)
                self._look_again()
                fault = await self._until_trouble()
                self._capacity.close(Isolation.PROCESS)
                await self._note(fault)
            if loop.time() - began > _LONGEST_PAUSE:
                backoff.succeed()
            await asyncio.sleep(backoff.fail())

    async def _fault(self) -> str | None:
        """Start the launcher; why no child process can be had."""
        try:
            await self._spawner.ready()
            self.children.check_supply()
        except LauncherError as error:
            log.error("%s; runs that need one wait", error)
            return str(error)
        return None

    async def _until_trouble(self) -> str | None:
        """Wait until no child process can be had; why. None: the launcher is gone, and nothing is known yet."""
        trouble, lost = self._trouble, asyncio.ensure_future(self._spawner.lost())
        either: list[asyncio.Future[Any]] = [trouble, lost]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost.cancel()
        return trouble.result() if trouble.done() else None

    def _run_short(self, reason: str) -> None:
        if not self._trouble.done():
            log.error("%s; runs that need one wait", reason)
            # What is handed back for it must not come at once again.
            self._capacity.close(Isolation.PROCESS)
            self._trouble.set_result(reason)

    async def _note(self, fault: str | None) -> None:
        if fault != self._noted:
            await self._database.write(note_launcher_fault, self._node, fault)
            self._noted = fault

    def kill_all(self) -> None:
        """Kill every child process, those at work and those that wait for a run of their job."""
        self._spawner.kill_all()

    async def kill_stopped(self) -> None:
        """Kill the child processes that somebody has stopped and not continued within the lease of a node."""
        self._spawner.kill_stopped(self._lease)

    async def close(self) -> None:
        """End the children and their launcher."""
        await self.children.close()
        await self._spawner.stop()
