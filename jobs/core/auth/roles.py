"""What somebody may do."""

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """What somebody may do; each role includes those before it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: "Role") -> bool:
        """Whether this role may do all that ``other`` may."""
        return RANK[self] >= RANK[other]


RANK: Final = {role: place for place, role in enumerate(Role)}
"""The roles in ascending order."""


def lesser(one: Role, other: Role) -> Role:
    """The role that may do less."""
    return other if one.includes(other) else one
