"""What a job may return or raise to say how it went."""

from dataclasses import dataclass

from ..core.base.wording import number_text
from ..core.model import Json
from ..core.rules import MAX_SECONDS


@dataclass(frozen=True, slots=True)
class Result:
    """What a job returns when an ``int`` (records processed) is not enough.

    Attributes:
        records_processed: How many records the job handled, 0 to 2^63 - 1; None = it does not count.
        value: Any JSON value, kept with the run and its execution.
    """

    records_processed: int | None = None
    value: Json = None


class JobSignal(Exception):
    """Base of the exceptions by which a job says something other than "this attempt failed"."""


class PermanentFailure(JobSignal):
    """The run is failed at once; trying again would not help."""


class Snooze(JobSignal):
    """Try again in ``seconds``; this is not a failure and uses no retry.

    Args:
        seconds: From now, 0 to ten years.
    """

    def __init__(self, seconds: float) -> None:
        if not 0 <= seconds <= MAX_SECONDS:
            raise ValueError(
                f"Snooze: seconds must be from 0 to {number_text(MAX_SECONDS)} (ten years), got {seconds!r}"
            )
        super().__init__(f"snoozed for {number_text(seconds)} s")
        self.seconds = float(seconds)


class Cancel(JobSignal):
    """The run is cancelled; what it was meant to do need not be done any more.

    Args:
        reason: A sentence for the log.
    """

    def __init__(self, reason: str = "the job cancelled itself") -> None:
        super().__init__(reason)
        self.reason = reason
