"""A run to be, as its caller describes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from .model import Json, Priority


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A run to be; the fields are the arguments of ``enqueue``."""

    job_name: str
    args: Mapping[str, Json] | None = None
    group: str | None = None
    priority: Priority | str | None = None
    run_at: datetime | None = None
    unique_key: str | None = None
    retries: int | None = None
    retry_delay: float | None = None
    timeout: float | None = None
    carried: Mapping[str, Json] | None = None
