"""Batched reads of flows: however many are asked about, one statement answers."""

from collections.abc import Mapping
from functools import cached_property

from ...jobs.core.flows.model import Flow
from ...jobs.core.states import RunState
from ...jobs.store.db.database import Database
from ...jobs.store.read import flows
from .data_loader import MAX_BATCH, DataLoader


class FlowLoaders:
    """What one operation reads of flows by key. Results are remembered for its duration.

    Args:
        database: Where they are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def by_id(self) -> DataLoader[int, Flow | None]:
        """Flows by key."""

        async def load(keys: list[int]) -> list[Flow | None]:
            found = await self._database.read(flows.by_ids, keys)
            return [found.get(key) for key in keys]

        return DataLoader(load, max_batch_size=MAX_BATCH)

    @cached_property
    def progress(self) -> DataLoader[int, Mapping[RunState, int]]:
        """How many runs of flows are in which state."""

        async def load(keys: list[int]) -> list[Mapping[RunState, int]]:
            found = await self._database.read(flows.progress, keys)
            return [found[key] for key in keys]

        return DataLoader(load, max_batch_size=MAX_BATCH)

    @cached_property
    def by_job(self) -> DataLoader[int, list[flows.OfJob]]:
        """The runs of flows, counted by job."""

        async def load(keys: list[int]) -> list[list[flows.OfJob]]:
            found = await self._database.read(flows.by_job, keys)
            return [found[key] for key in keys]

        return DataLoader(load, max_batch_size=MAX_BATCH)

    @cached_property
    def members(self) -> DataLoader[int, flows.Member | None]:
        """The places of runs in their flows."""

        async def load(keys: list[int]) -> list[flows.Member | None]:
            found = await self._database.read(flows.members_by_run, keys)
            return [found.get(key) for key in keys]

        return DataLoader(load, max_batch_size=MAX_BATCH)

    @cached_property
    def before(self) -> DataLoader[int, list[int]]:
        """The runs that runs come after."""

        async def load(keys: list[int]) -> list[list[int]]:
            found = await self._database.read(flows.before, keys)
            return [found.get(key, []) for key in keys]

        return DataLoader(load, max_batch_size=MAX_BATCH)
