"""What keeps the event loop of a node's jobs from turning."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Blockage:
    """What keeps the event loop of a node's jobs from turning; its other async jobs stand still meanwhile.

    Attributes:
        since: When the loop turned last.
        run_id: The run whose code is at work; None if it is no job's.
        job_name: The job of that run.
        stack: Where that code was when it was noticed: ``file:line in function``, the innermost last.
    """

    since: datetime
    run_id: int | None
    job_name: str | None
    stack: tuple[str, ...]
