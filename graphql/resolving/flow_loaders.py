"""Batched reads of flows: however many are asked about, one statement answers."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from cronograph.jobs.core.flows import Flow

from ...jobs.core.states import RunState
from ...jobs.store.db.database import Database
from ...jobs.store.read import flows
from .data_loader import DataLoader, by_key


class FlowLoaders:
    """What one operation reads of flows by key. Results are remembered for its duration."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def by_id(self) -> DataLoader[int, Flow | None]:
        """Flows by key."""
        return by_key(self._database, flows.by_ids, missing=None)

    @cached_property
    def progress(self) -> DataLoader[int, Mapping[RunState, int]]:
        """How many runs of flows are in which state."""
        return by_key(self._database, flows.progress, missing={})

    @cached_property
    def by_job(self) -> DataLoader[int, Sequence[flows.OfJob]]:
        """The runs of flows, counted by job."""
        return by_key(self._database, flows.by_job, missing=())

    @cached_property
    def members(self) -> DataLoader[int, flows.Member | None]:
        """The places of runs in their flows."""
        return by_key(self._database, flows.members_by_run, missing=None)

    @cached_property
    def before(self) -> DataLoader[int, Sequence[int]]:
        """The runs that runs come after."""
        return by_key(self._database, flows.before, missing=())
