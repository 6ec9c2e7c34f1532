"""Values and exceptions by which a job says how it went."""

from dataclasses import dataclass
from datetime import datetime

from ..core.base.errors import CronographError
from ..core.base.times import check_time, number_text
from ..core.model import Json
from ..core.rules import MAX_SECONDS
from ..core.run_spec import Seconds, length
from ..core.states import RunState
from ..core.waits import AwaitedKind, Awaits


@dataclass(frozen=True, slots=True)
class Result:
    """Hold a job's result when an ``int`` (records processed) is not enough.

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
    """Try again later; this is not a failure and uses no retry.

    Args:
        seconds: From now, 0 to ten years: ``30``, ``timedelta(minutes=5)`` or ``"5m"``.

    Raises:
        InvalidInput: it is no such duration.
    """

    def __init__(self, seconds: Seconds) -> None:
        self.seconds: float = length("Snooze", seconds)
        super().__init__(f"snoozed for {number_text(self.seconds)} s")


class Cancel(JobSignal):
    """The run is cancelled; its work need not be done any more.

    Args:
        reason: A sentence for the log.
    """

    def __init__(self, reason: str = "the job cancelled itself") -> None:
        super().__init__(reason)
        self.reason = reason


class Rejected(PermanentFailure):
    """The awaited signal came and says no, or did not come in time where that means no.

    A job that does not catch it is failed at once.
    """


class WaitTimedOut(PermanentFailure):
    """The awaited signal or run did not come in time. A job that does not catch this is failed at once."""


class RunFailed(CronographError):
    """A run that was waited for, by ``handle.result`` or ``ctx.run``, ended otherwise than successfully.

    Attributes:
        run_id: Its id.
        job_name: Its job.
        state: As it ended.
        error: Why.
    """

    def __init__(self, run_id: int, job_name: str, state: RunState, error: str | None) -> None:
        super().__init__(f"run {run_id} of job '{job_name}' ended {state.value}: {error or 'no reason given'}")
        self.run_id = run_id
        self.job_name = job_name
        self.state = state
        self.error = error


class Suspend(BaseException):
    """Ends the attempt, and the run waits without a slot, a thread or a child process; this uses no retry.

    Not an ``Exception``: an ``except Exception`` in a job must not take it for a failure. The waiting functions of a
    job raise it. When the run is woken, its job begins again at its first line.

    Args:
        awaits: The event that wakes the run.
        seconds: After so many seconds it is woken in any case, counted by the database's clock from the end of the
            attempt; 0 to ten years, None = not by time.
        until: The same as a time by that clock.
    """

    def __init__(self, awaits: Awaits, *, seconds: float | None = None, until: datetime | None = None) -> None:
        if seconds is not None and not 0 <= seconds <= MAX_SECONDS:
            raise ValueError(
                f"Suspend: seconds must be from 0 to {number_text(MAX_SECONDS)} (ten years), got {seconds!r}"
            )
        check_time(until, "until")
        if awaits.kind is AwaitedKind.TIME and seconds is None and until is None:
            raise ValueError("Suspend: what awaits a time needs seconds or until, or nothing would ever wake it")
        super().__init__(f"suspended until {awaits.kind.value} wakes it")
        self.awaits = awaits
        self.seconds: float | None = None if seconds is None else float(seconds)
        self.until = until
