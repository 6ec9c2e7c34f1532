"""Finds dead nodes and takes their runs back. Any node may do it; the database lets only one succeed."""

import logging

from ...actions.nodes import rescue_expired
from ...core.nodes import Node
from ...store.db.database import Database
from ...store.db.transaction import Tx
from ...store.read import nodes
from ..base.clock import Clock

log = logging.getLogger(__name__)


class Rescuer:
    """Watches the other nodes' heartbeats.

    A node is dead when its lease has run out by the database's clock *and* its counter has not moved for a full lease
    by this process' monotonic clock: a clock that jumps rescues nobody.
    """

    def __init__(self, database: Database, *, own: int, lease: float, clock: Clock) -> None:
        self._database = database
        self._own = own
        self._lease = lease
        self._clock = clock
        self._watched: dict[int, tuple[int, float]] = {}
        self._told: set[int] = set()

    async def look(self) -> int:
        """Look once; how many runs were rescued."""
        live = await self._database.read(nodes.live)
        now = self._clock.monotonic()
        self._watched = {node.id: (node.seq, self._since(node, now)) for node in live if node.id != self._own}
        silent = {node_id for node_id, (_, since) in self._watched.items() if now - since >= self._lease}
        self._told &= silent
        if not silent:
            return 0
        dead, rescued = await self._database.write(_rescue, silent)
        for node in dead:
            # It is tried again while another node is at it, or a claim of the dead one under way; that is not logged.
            if node.id not in self._told:
                log.warning("node %s is dead: no heartbeat since %s", node.name, node.heartbeat_at.isoformat())
        self._told |= {node.id for node in dead}
        if rescued:
            log.warning("rescued %d runs of dead nodes", rescued)
        return rescued

    def _since(self, node: Node, now: float) -> float:
        seq, since = self._watched.get(node.id, (None, now))
        return since if seq == node.seq else now


def _rescue(tx: Tx, silent: set[int]) -> tuple[list[Node], int]:
    dead = [node for node in nodes.expired(tx.conn, tx.now) if node.id in silent]
    return dead, rescue_expired(tx, dead)
