"""The steps of a run in a test that has no database."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from ..core.durable.steps import StepEnd, StepState, StoredStep
from ..core.model import Json
from ..queue.claim import Started


class RecordedSteps:
    """Keeps what the steps of one attempt returned.

    Args:
        given: Results of earlier attempts, by label.

    Attributes:
        values: What is stored by now, by label.
    """

    def __init__(self, given: Mapping[str, Json] = MappingProxyType({})) -> None:
        self._given = dict(given)
        self.values: dict[str, Json] = dict(given)

    def may_have(self, started: Started) -> bool:
        """Whether results were given."""
        del started
        return bool(self._given)

    async def stored(self, started: Started) -> Mapping[str, StoredStep]:
        """The given results."""
        before = max(0, started.run.attempt - 1)
        return {label: StoredStep(label, before, value) for label, value in self._given.items()}

    def keep(self, started: Started, end: StepEnd) -> asyncio.Future[bool]:
        """Keep a result."""
        del started
        if end.state is StepState.DONE:
            self.values[end.label] = end.value
        kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        kept.set_result(True)
        return kept
