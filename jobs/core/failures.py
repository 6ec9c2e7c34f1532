"""What people say of a group of failures: that nobody shall hear of it for a while, or that its cause is mended."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from .model import Json


class FailureState(StrEnum):
    """The state of a group of failures."""

    OPEN = "open"
    SILENCED = "silenced"
    SOLVED = "solved"
    REGRESSED = "regressed"


@dataclass(frozen=True, slots=True)
class FailureMark:
    """What people said of one group of failures.

    Attributes:
        fingerprint: The name of the group.
        job_name: Its job.
        silenced_until: Until then it counts as known: it is no new error, and no reason to be alarmed.
        solved_at: When somebody said that its cause is mended.
        solved_in: The version of the job's code that mends it, as its code says it; None = the present one does.
        old_versions: The signatures of the versions that had it, and may fail so until they are gone; None = none may.
    """

    fingerprint: str
    job_name: str
    silenced_until: datetime | None
    silenced_by: str | None
    silence_reason: str | None
    solved_at: datetime | None
    solved_by: str | None
    solved_in: str | None
    old_versions: tuple[str, ...] | None
    updated_at: datetime

    def is_silenced(self, now: datetime) -> bool:
        """Return whether it counts as known now."""
        return self.silenced_until is not None and now < self.silenced_until

    def comes_back(self, started_at: datetime, signature: str | None) -> bool:
        """Return whether a failure shows that it is not solved: it began later, and not in code that had it.

        Args:
            started_at: When the execution began.
            signature: Of the version of the job on its node; None = it is not known any more.
        """
        if self.solved_at is None or started_at <= self.solved_at:
            return False
        return self.old_versions is None or signature not in self.old_versions

    def state(self, now: datetime, *, is_back: bool) -> FailureState:
        """Return the state of the group; ``is_back``: a failure has shown that it is not solved."""
        if self.is_silenced(now):
            return FailureState.SILENCED
        if self.solved_at is None:
            return FailureState.OPEN
        return FailureState.REGRESSED if is_back else FailureState.SOLVED

    def silence(self) -> dict[str, Json] | None:
        """Return its silence as the audit log has it."""
        if self.silenced_until is None:
            return None
        return {"until": self.silenced_until.isoformat(), "reason": self.silence_reason}

    def solution(self) -> dict[str, Json] | None:
        """Return how it is solved as the audit log has it."""
        return None if self.solved_at is None else {"at": self.solved_at.isoformat(), "version": self.solved_in}


MAX_MARKS: Final = 10_000


def unmarked(fingerprint: str, job_name: str, now: datetime) -> FailureMark:
    """Return the mark of a group of which nobody has said anything."""
    return FailureMark(fingerprint, job_name, None, None, None, None, None, None, None, now)


Signatures = Mapping[int, Mapping[str, Any]]
"""By the id of a node, the signatures of its versions of jobs, by their names."""
