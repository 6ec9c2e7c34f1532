"""What jobs have kept while they run: checkpoints, runs that they enqueue, and their steps."""

import logging
from collections.abc import Sequence

from ...actions.checkpoints import save_checkpoint
from ...core.base.tracing import TRACED
from ...core.flows.spec import FlowSpec
from ...core.model import Json
from ...core.run_spec import RunSpec
from ...queue.claims.claim import Started
from ...queue.enqueue.enqueue_many import put_many
from ...queue.flows.enqueue_flow import put_spec
from ...store.db.database import Database
from .step_writer import StepWriter

log = logging.getLogger(__name__)


class Keeping:
    """The way of jobs to the database.

    Attributes:
        steps: Stores the ends of steps.
    """

    def __init__(self, database: Database, public_url: str | None = None) -> None:
        self._database = database
        self.steps = StepWriter(database, public_url)

    async def enqueue(self, asked: Sequence[RunSpec] | FlowSpec) -> list[int]:
        """Put runs or a flow into the queue; the ids of the runs, or that of the flow alone."""
        if isinstance(asked, FlowSpec):
            return [await self._database.write(TRACED.here(put_spec), asked)]
        return await self._database.write(TRACED.here(put_many), asked)

    async def save_checkpoint(self, started: Started, value: Json) -> None:
        """Keep a checkpoint, unless the run was taken from this node."""
        kept = await self._database.write(save_checkpoint, started.run, value)
        if not kept:
            log.warning("a checkpoint of run %d was refused: the run had been taken from this node", started.run.id)

    async def close(self) -> None:
        """Store nothing more."""
        await self.steps.close()
