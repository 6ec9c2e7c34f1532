"""Groups whose limits are defined in a file: what is wanted, what is there, and how the two differ."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .base.errors import VersionConflict
from .model import Group
from .task_sets import FieldChange, shown

LIMITS: Final = ("max_running", "rate", "cap", "max_wait_low", "keep")
"""What a file may say of a group. Pauses belong to operators."""


@dataclass(frozen=True, slots=True)
class WantedGroup:
    """A group as a file wants it.

    Attributes:
        limits: Some of ``LIMITS`` to values; None = no limit; what is absent is not the file's business.
    """

    name: str
    limits: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """What becomes of one group.

    Attributes:
        version: Of its limits before that; see ``version_of``.
        changes: The limits that are set.
    """

    name: str
    version: str
    changes: tuple[FieldChange, ...] = ()


def version_of(group: Group) -> str:
    """A word that is the same as long as the limits of a group are."""
    limits = json.dumps([shown(getattr(group, limit)) for limit in LIMITS])
    return hashlib.sha256(limits.encode()).hexdigest()[:16]


def limits_that_differ(group: Group, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Those wanted limits that a group does not have."""
    return {limit: value for limit, value in wanted.items() if getattr(group, limit) != value}


def changes_of(group: Group, differing: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """The same for people: before and after."""
    return tuple(FieldChange(limit, shown(getattr(group, limit)), shown(value)) for limit, value in differing.items())


def check_group_version(planned: PlannedGroup, expected: Mapping[str, str] | None) -> None:
    """Refuse a group that is not as the plan saw it.

    Raises:
        VersionConflict: its limits were changed since, or the plan did not know it.
    """
    if expected is not None and expected.get(planned.name) != planned.version:
        raise VersionConflict(
            f"the limits of group '{planned.name}' have changed since the plan was made; plan again", path=("name",)
        )
