"""How an attempt in a test ended, and all that it said."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ..core.model import Json, Outcome
from ..core.run_spec import RunSpec
from ..core.states import RunState


@dataclass(frozen=True, slots=True)
class LoggedLine:
    """A line that the job wrote by ``ctx.log`` or ``logging``. ``level`` is ``debug`` … ``critical``.

    ``step`` is the step that wrote it.
    """

    at: datetime
    level: str
    message: str
    fields: Json = None
    step: str | None = None


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """How one attempt ended, and all that the job said.

    Attributes:
        attempt: 1 for the first.
        outcome: ``success``, ``failed``, ``timed_out``, ``cancelled``, ``snoozed``, ``suspended`` or ``handed_back``.
        state: Of its run afterwards: ``success``, ``failed``, ``cancelled``, ``stuck`` (to be retried), ``waiting`` or
            ``suspended``.
        retry_in: Seconds until the next attempt; None = there is none, or not by time alone.
        records_processed: What the job counted.
        value: Its JSON result.
        error: The message, set whenever it did not succeed.
        error_type: The exception's name.
        traceback: Where it was raised.
        lines: All log lines.
        progress: Every value that was shown: ``done``, ``total`` and ``message``.
        checkpoint: The last one, saved by this attempt or given to it.
        started_at: By the clock.
        completed_at: By the clock.
        enqueued: What it put into the queue by ``ctx``, what follows its end last; of a failed attempt only what was
            put there at once.
        steps: What is stored of the run's steps by now: what each returned, by its label (``charge``, ``charge#2``).
    """

    attempt: int
    outcome: Outcome
    state: RunState
    retry_in: float | None
    records_processed: int | None
    value: Json
    error: str | None
    error_type: str | None
    traceback: str | None
    lines: tuple[LoggedLine, ...]
    progress: tuple[Json, ...]
    checkpoint: Json
    started_at: datetime
    completed_at: datetime
    enqueued: tuple[RunSpec, ...] = ()
    steps: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def success(self) -> bool:
        """What the execution log would say: true for ``success``, ``snoozed`` and ``suspended``."""
        return self.outcome.is_success

    @property
    def messages(self) -> list[str]:
        """The messages of the lines."""
        return [line.message for line in self.lines]
