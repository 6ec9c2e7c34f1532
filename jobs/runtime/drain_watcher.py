"""What a node does when somebody asks it to drain: it takes nothing new and ends, unless that is taken back before."""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from ..core.nodes import Node, NodeState
from .attempts.worker import Worker
from .base.service import Service

log = logging.getLogger(__name__)

_SERVING = (NodeState.ACTIVE, NodeState.STALLED)


class DrainableNode(Protocol):
    """The node, as far as it matters here."""

    node: Node
    worker: Worker

    async def pause(self) -> None:
        """Dispatch and take nothing new."""
        ...

    def resume(self) -> None:
        """Dispatch and take runs again."""
        ...

    async def announce_stopping(self, sources: set[NodeState]) -> bool:
        """Say that it ends; False if it is in none of the states ``sources``."""
        ...


class DrainWatcher(Service):
    """Follows what the database says of this node: ``DRAINING`` asks it to drain, ``ACTIVE`` takes that back.

    Args:
        life: The node.
        drain_timeout: How many seconds running jobs may go on; 0 = as long as they take.
        on_drained: Called once nothing runs any more, or the time is up; from then on nothing is taken back.

    Attributes:
        timed_out: What still ran when the node had drained has had its time.
    """

    def __init__(self, life: DrainableNode, drain_timeout: float, on_drained: Callable[[], None]) -> None:
        super().__init__("drain-watcher")
        self._life = life
        self._drain_timeout = drain_timeout
        self._on_drained = on_drained
        self._asked = asyncio.Event()
        self._taken_back = asyncio.Event()
        self.timed_out = False

    @property
    def asked(self) -> bool:
        """Whether somebody asked this node to drain and has not taken it back."""
        return self._asked.is_set()

    def on_state(self, state: NodeState) -> None:
        """The database says that the node is in this state; called in the event loop after every heartbeat."""
        if state is NodeState.DRAINING and not self.asked:
            self._taken_back.clear()
            self._asked.set()
        elif state in _SERVING and self.asked:
            self._asked.clear()
            self._taken_back.set()
        elif state in _SERVING:
            # It may have been asked and taken back between two heartbeats, and only a claim have seen it.
            self._life.worker.take_again()

    async def run(self) -> None:
        """Drain whenever it is asked for, until that has led to the end."""
        name = self._life.node.name
        while True:
            # At the beginning that changes nothing; after a fault on the way back it is what is left to do.
            self._life.resume()
            await self._asked.wait()
            log.info("node %s was asked to drain: it takes nothing new and ends once its jobs have", name)
            await self._life.pause()
            idle = await self._wait_idle()
            if not self._taken_back.is_set() and await self._life.announce_stopping({NodeState.DRAINING}):
                self.timed_out = not idle
                self._on_drained()
                return
            self.passed()
            await self._taken_back.wait()
            log.info("node %s takes runs again", name)

    async def _wait_idle(self) -> bool:
        """Wait until nothing runs, the time is up, or it is taken back; whether nothing runs."""
        idle = asyncio.ensure_future(self._life.worker.wait_idle(self._drain_timeout or None))
        back = asyncio.ensure_future(self._taken_back.wait())
        try:
            await asyncio.wait([idle, back], return_when=asyncio.FIRST_COMPLETED)
            return idle.done() and idle.result()
        finally:
            idle.cancel()
            back.cancel()
