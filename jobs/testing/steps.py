"""The steps of a run in a test that has no database."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from ..actions.signal_links import PATH
from ..core.model import Json
from ..core.steps import StepEnd, StepState, StoredStep
from ..core.waits import Wait
from ..queue.claims.claim import Started

TEST_URL = "https://cronograph.test"
"""Under which address people reach the server in tests."""


class RecordedSteps:
    """Keeps what the steps of one attempt returned.

    Args:
        given: Results of earlier attempts, by label; of a sleep that is over None, of a signal what it brought along.
        signals: What is in the boxes, by name.
        now: The time.

    Attributes:
        values: What is stored by now, by label.
    """

    def __init__(
        self,
        given: Mapping[str, Json] = MappingProxyType({}),
        signals: Mapping[str, Json] = MappingProxyType({}),
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self._given = dict(given)
        self._signals = dict(signals)
        self._now = now
        self.values: dict[str, Json] = dict(given)

    def may_have(self, started: Started) -> bool:
        """Whether results were given."""
        del started
        return bool(self._given)

    async def stored(self, started: Started) -> Mapping[str, StoredStep]:
        """The given results."""
        before = max(0, started.run.attempt - 1)
        return {label: StoredStep(label, before, value, kind=None) for label, value in self._given.items()}

    def keep(self, started: Started, end: StepEnd) -> asyncio.Future[bool]:
        """Keep a result."""
        del started
        if end.state is StepState.DONE:
            self.values[end.label] = end.value
        kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        kept.set_result(True)
        return kept

    async def wait(self, started: Started, asked: Wait) -> StoredStep | None:
        """End a wait whose signal is in its box, begin any other."""
        attempt = started.run.attempt
        if asked.signal in self._signals:
            value = self._signals.pop(asked.signal)
            self.values[asked.label] = value
            return StoredStep(asked.label, attempt, value, asked.kind)
        until = asked.until
        if asked.seconds is not None and self._now is not None:
            until = self._now() + timedelta(seconds=asked.seconds)
        return StoredStep(asked.label, attempt, None, asked.kind, StepState.WAITING, until)

    async def signal_url(self, started: Started, label: str) -> str | None:
        """An address that leads nowhere."""
        return f"{TEST_URL}{PATH}/{started.run.id}-{label}"
