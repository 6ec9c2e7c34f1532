"""A client that asks for a number of runs at engines, some at a time."""

from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from tests.chaos.client import Client
from tests.chaos.engine_jobs import ENGINE_JOBS

LONGEST: Final = 2.0
"""Seconds that a run takes at most."""
AHEAD: Final = 32
"""Runs at the same time, at most; of few, a quarter: so that all that happens happens while some go on."""


@dataclass
class EngineClient(Client):
    """Asks whichever node it finds for a run at each engine in turn, until so many were acknowledged.

    Attributes:
        runs: How many.
    """

    runs: int = 0

    @property
    @override
    def has_more(self) -> bool:
        """Whether some were not acknowledged yet."""
        return len(self.promised) < self.runs

    @override
    def _turn(self, number: int) -> None:
        unfinished = "state NOT IN ('success', 'failed', 'cancelled', 'skipped') AND job_name LIKE 'at %'"
        if not self.has_more or self.cluster.count("run", unfinished) >= min(AHEAD, self.runs // 4):
            return
        args: dict[str, Any] = {"seconds": LONGEST * (number % 5) / 4}
        self._ask(f"promise-{number}", ENGINE_JOBS[number % len(ENGINE_JOBS)], args)
