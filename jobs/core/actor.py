"""Actors: people and programs, with the rights of their roles, and their entries in the audit log."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from .model import Json
from .rules import MAX_NAME


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
    """Return the role that may do less."""
    return other if one.includes(other) else one


@dataclass(frozen=True, slots=True)
class Actor:
    """Name the person or program behind a change, and their address; written into the audit log.

    Attributes:
        name: Of the account, or of an actor without one, such as the command line.
        account_id: None without an account.
        address: Where the request came from; None when it came from no network.
        full_rights: Whether the role is all that the account may do; not so for a token of a lower role.
    """

    name: str
    role: Role
    account_id: int | None = None
    address: str | None = None
    full_rights: bool = True


CODE: Final = Actor("code", Role.ADMIN)
"""Acts where things follow what the code of a job says."""
FILE: Final = Actor("file", Role.ADMIN)
"""Acts where things follow files that the server applies, which are trusted as the code of jobs is."""


class Submitter(NamedTuple):
    """In whose name a task or a run was submitted.

    Attributes:
        name: Of the account, at that time; for people.
        account_id: Whose rights hold, even if another account has that name now; None for a call without an account.
    """

    name: str
    account_id: int | None


MOST_NAMES = 100


def argument_names(args: Mapping[str, Json]) -> Json:
    """Return a job's arguments as the audit log keeps them: their names, for they may hold secrets.

    A name has its first 200 characters; of more than 100 names it is their count.
    """
    return sorted(name[:MAX_NAME] for name in args) if len(args) <= MOST_NAMES else {"count": len(args)}


@dataclass(frozen=True, slots=True)
class Record:
    """One change, as the action that makes it describes it. Never holds a secret.

    Attributes:
        actor: Who did it.
        action: The change, such as ``account.created``.
        subject: The changed thing.
        before: Its values before, as far as they changed; None when it is new.
        after: Its values now; None when it is gone.
        revised: The kind of ``subject`` if the values are its fields, so that the entry is a revision of it.
        job_name: The job of a revised thing; None if it has none.
    """

    actor: Actor
    action: str
    subject: str | None = None
    before: Json = None
    after: Json = None
    revised: str | None = None
    job_name: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the audit log; ``before`` and ``after`` are JSON text. See ``Record``."""

    id: int
    at: datetime
    actor: str
    actor_id: int | None
    address: str | None
    action: str
    subject: str | None
    before: str | None
    after: str | None
    revised: str | None = None
    job_name: str | None = None


def described(text: str | None) -> Json:
    """Return ``before`` or ``after`` of an entry; if somebody has changed it so that it is no JSON, as text."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return text
