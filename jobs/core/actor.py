"""Actors: people and programs, with the rights of their roles."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple


class Role(StrEnum):
    """Name the rights of an actor; each role includes those before it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: "Role") -> bool:
        """Return whether this role may do all that ``other`` may."""
        return RANK[self] >= RANK[other]


RANK: Final = {role: place for place, role in enumerate(Role)}
"""The roles in ascending order."""


def lesser(one: Role, other: Role) -> Role:
    """The role that may do less."""
    return other if one.includes(other) else one


@dataclass(frozen=True, slots=True)
class Actor:
    """Name the person or program behind a change, and their address; written into the audit log.

    Attributes:
        name: Of the account, or of an actor without one, such as the command line.
        role: The rights.
        account_id: None without an account.
        address: Where the request came from; None when it came from no network.
        full_rights: Whether the role is all that the account may do; not so for a token of a lower role.
    """

    name: str
    role: Role
    account_id: int | None = None
    address: str | None = None
    full_rights: bool = True


class Submitter(NamedTuple):
    """In whose name a task or a run was submitted.

    Attributes:
        name: Of the account, at that time; for people.
        account_id: Whose rights hold, even if another account has that name now; None for a call without an account.
    """

    name: str
    account_id: int | None
