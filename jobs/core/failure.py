"""What is told of a run that failed for good."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .model import Json


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that failed for good: its failures exceeded its retries, or one was final.

    Attributes:
        run_id: The run's id.
        job_name: Its job.
        attempt: How often it was started.
        error: Why the last attempt failed.
        error_type: The exception's name, if there was one.
        task_name: The task that made the run, if one did.
        args: Its arguments, with ``[secret NAME]`` in the place of secrets.
    """

    run_id: int
    job_name: str
    attempt: int
    error: str
    error_type: str | None = None
    task_name: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def document(self) -> dict[str, Json]:
        """The argument ``failure`` of the job that is told."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}
