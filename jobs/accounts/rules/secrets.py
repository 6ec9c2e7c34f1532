"""Secrets of jobs: what is known of each but its value, and what a value may be."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ...core.base.errors import InvalidInput
from ...core.base.times import number_text
from ...core.rules import name_faults

MIN_VALUE: Final = 4
MAX_VALUE: Final = 65_536
"""Characters of a secret. A shorter one could not be cut out of what a job says without tearing it to pieces."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret, without its value."""

    name: str
    key_id: str
    created_at: datetime
    created_by: str
    updated_at: datetime
    updated_by: str


def check_secret(name: str, value: str) -> None:
    """Let a secret pass that can be kept.

    Raises:
        InvalidInput: of the name or of the length of the value, which is never in the message.
    """
    for fault in name_faults(name, "name"):
        raise fault
    if not MIN_VALUE <= len(value) <= MAX_VALUE:
        raise InvalidInput(
            f"value: must have {MIN_VALUE} to {number_text(MAX_VALUE)} characters, got {number_text(len(value))}",
            path=("value",),
        )
