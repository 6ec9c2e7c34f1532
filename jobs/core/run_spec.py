"""A run to be, as its caller describes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from .admission.holding import Hold
from .model import Json, Priority
from .seconds import Seconds

NO_KEY: Final = ""
"""A unique key that says: none, even if the job declares one."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A run to be; the fields are the arguments of ``enqueue``.

    Attributes:
        retry_delay, timeout, max_duration, ttl: Seconds, a ``timedelta``, or a text such as ``"5m"``.
        unique_key: None: as the job declares; ``NO_KEY``: none.
        parent_labels: Those of the run that makes it.
        settled: Whether the job's own code has said what follows from the arguments: the labels.
        signature: Of the version of the job that accepted the arguments; None: no code of it has.
    """

    job_name: str
    args: Mapping[str, Json] | None = None
    group: str | None = None
    priority: Priority | str | None = None
    run_at: datetime | None = None
    unique_key: str | None = None
    retries: int | None = None
    retry_delay: Seconds | None = None
    timeout: Seconds | None = None
    carried: Mapping[str, Json] | None = None
    labels: Mapping[str, str] | None = None
    parent_labels: Mapping[str, str] | None = None
    expires_at: datetime | None = None
    ttl: Seconds | None = None
    hold: Hold | None = None
    max_duration: Seconds | None = None
    settled: bool = field(default=False, compare=False)
    signature: str | None = field(default=None, compare=False)
