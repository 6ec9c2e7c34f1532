"""Entries of the audit log: the actor, the address, and the values before and after a change."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from .actor import Actor
from .model import Json
from .rules import MAX_NAME

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
    """

    actor: Actor
    action: str
    subject: str | None = None
    before: Json = None
    after: Json = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the audit log; ``before`` and ``after`` are JSON text."""

    id: int
    at: datetime
    actor: str
    actor_id: int | None
    address: str | None
    action: str
    subject: str | None
    before: str | None
    after: str | None


def described(text: str | None) -> Json:
    """``before`` or ``after`` of an entry; one that is no JSON, because somebody has changed it, as the text it is."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return text
