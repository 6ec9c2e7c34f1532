"""Sign the arguments of a job as one short word: nodes whose versions take the same arguments print the same word."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self, cast

VERSION: Final = "x-version"
"""The keyword of the JSON Schema of a job's arguments that holds the version of its code."""

LENGTH: Final = 16
"""Characters of a signature."""
_ANNOTATIONS = ("title", "description")
"""Keys of a JSON Schema whose texts say nothing about what is accepted."""


def signature_of(job_name: str, args_schema: Mapping[str, Any]) -> str:
    """Return the signature of a job: 16 hexadecimal digits of a hash of its name and of the rules for its arguments."""
    text = json.dumps([job_name, _essence(args_schema)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def foreign_to(own: Mapping[str, str], others: Mapping[str, str]) -> frozenset[str]:
    """Return the signatures that another node has for jobs of which this one has another version.

    Args:
        own: Job name to signature, of this node.
        others: The same of the other node.
    """
    return frozenset(word for name, word in others.items() if name in own and own[name] != word)


@dataclass(frozen=True, slots=True)
class UnreadBy:
    """Versions of a job that could not read a run's arguments, one attempt after the other, as the run keeps them.

    Attributes:
        versions: Their signatures, in the order of their attempts.
        checked: The signature of the version that accepted the arguments; None = nobody has checked them.
        since: When the first of these attempts ended; ``at``: when the last one did.
        attempt: The number of the last one; ``count``: how many there were.
        node: Where the last one was; ``reason``: the faults there.
    """

    versions: tuple[str, ...]
    checked: str | None
    since: datetime
    at: datetime
    attempt: int
    count: int
    node: str
    reason: str

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read the stored form."""
        times = {name: datetime.fromisoformat(stored[name]) for name in ("since", "at")}
        members: dict[str, Any] = {**stored, **times, "versions": tuple(stored["versions"])}
        return cls(**members)

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        names = ("checked", "attempt", "count", "node", "reason")
        times = {"since": self.since.isoformat(), "at": self.at.isoformat()}
        return {"versions": list(self.versions), **times, **{name: getattr(self, name) for name in names}}

    def until(self, wait: float) -> datetime:
        """Return when the wait for another version ends; ``wait`` is in seconds."""
        return self.since + timedelta(seconds=wait)

    def unasked(self, live: Collection[str]) -> frozenset[str]:
        """Return those of the ``live`` versions that have not tried."""
        return frozenset(live).difference(self.versions)

    @property
    def is_final(self) -> bool:
        """Return whether the version that accepted the arguments has tried, so that no other one is expected."""
        return self.checked in self.versions


def unread_by(
    stored: Mapping[str, Any] | None,
    *,
    version: str,
    node: str,
    attempt: int,
    checked: str | None,
    reason: str,
    now: datetime,
) -> UnreadBy:
    """Return a run's note after ``attempt``, in which this version on this node could not read its arguments.

    ``stored`` is its note before. That counts only if the attempt before this one ended in the same way.
    """
    before = None if stored is None else UnreadBy.from_json(stored)
    if before is None or before.attempt != attempt - 1:
        return UnreadBy((version,), checked, now, now, attempt, 1, node, reason)
    versions = (*(one for one in before.versions if one != version), version)
    return UnreadBy(versions, before.checked, before.since, now, attempt, before.count + 1, node, reason)


def _essence(schema: object) -> object:
    if isinstance(schema, Mapping):
        parts = cast("Mapping[str, object]", schema)
        return {
            key: _essence(value) for key, value in parts.items() if not (key in _ANNOTATIONS and isinstance(value, str))
        }
    if isinstance(schema, list):
        items = cast("list[object]", schema)
        return [_essence(item) for item in items]
    return schema
