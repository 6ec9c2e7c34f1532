"""What a suspended run waits for: a time, a signal, the end of other runs, or another version of its job."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self

LISTED: Final = 20
"""So many of the runs that a run waits for are named with it; the others are counted."""


class AwaitedKind(StrEnum):
    """What kind of thing wakes a suspended run."""

    TIME = "time"
    SIGNAL = "signal"
    RUNS = "runs"
    FLOW = "flow"
    VERSION = "version"


@dataclass(frozen=True, slots=True)
class Awaits:
    """What a run waits for, as it is stored with the run while it is suspended.

    Attributes:
        kind: A time, a signal, runs, what comes before it in its flow, or a version of its job that reads its
            arguments. Each of them may end by time as well: that is the run's ``wake_at``.
        name: Of the sleep, the signal or the step that waits, as the job calls it; None if it has none.
        runs: The first ``LISTED`` of the runs that have to end, in ascending order.
        count: How many runs have to end in all.
        until: When this one of several ends by time; None = not by time, or there are no others.
        others: What else the run waits for, the first ``LISTED``; whichever comes first wakes it.
        more: How many further ones there are.
    """

    kind: AwaitedKind
    name: str | None = None
    runs: tuple[int, ...] = ()
    count: int = 0
    until: datetime | None = None
    others: "tuple[Awaits, ...]" = ()
    more: int = 0

    @classmethod
    def for_runs(cls, run_ids: "list[int] | tuple[int, ...]", name: str | None = None) -> Self:
        """That these runs end."""
        return cls(AwaitedKind.RUNS, name, tuple(sorted(run_ids)[:LISTED]), len(run_ids))

    def to_json(self) -> dict[str, Any]:
        """The stored form: only what is set."""
        stored: dict[str, Any] = {"kind": self.kind.value}
        if self.name is not None:
            stored["name"] = self.name
        if self.count:
            stored |= {"runs": list(self.runs), "count": self.count}
        if self.until is not None:
            stored["until"] = self.until.isoformat()
        if self.others:
            stored["others"] = [one.to_json() for one in self.others]
        if self.more:
            stored["more"] = self.more
        return stored

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """What is behind the stored form."""
        until = stored.get("until")
        return cls(
            AwaitedKind(stored["kind"]),
            stored.get("name"),
            tuple(stored.get("runs", ())),
            stored.get("count", 0),
            None if until is None else datetime.fromisoformat(until),
            tuple(map(cls.from_json, stored.get("others", ()))),
            stored.get("more", 0),
        )
