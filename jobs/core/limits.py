"""What a job says about how many of its runs start, how many run at once, and how many wait."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, Self

from .admission.caps import Cap
from .base.rates import Rate
from .unique_key import UniqueKey

LIMITS: Final = "limits"
"""What a run inherits that has no keys yet."""
NEVER: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""When a run becomes available that waits for a slot or a token of its key: no claim sees it before it is let go."""
OF_THE_JOB: Final = ""
"""The key of a rate or a cap that all runs of a job share."""
OF_TASKS: Final = "\ttask "
"""Begins the key of each task's own bucket; no key that is made of arguments has a tab (see ``unique_key``)."""
MAX_CONCURRENT: Final = 1_000_000


def key_of_task(task_id: int) -> str:
    """The rate key of the runs of a task that says a rate itself: they share its bucket."""
    return f"{OF_TASKS}{task_id}"


def task_of_key(rate_key: str | None) -> int | None:
    """The task whose bucket this is; None = it is one of its job."""
    return int(rate_key.removeprefix(OF_TASKS)) if rate_key is not None and rate_key.startswith(OF_TASKS) else None


class Keys(NamedTuple):
    """By what a run is limited; None = not at all.

    Attributes:
        concurrency_key: No more than ``max_concurrent`` runs with this text run at once.
        max_concurrent: See there.
        rate_key: Which of the buckets of its job gives its tokens, or that of its task (``key_of_task``).
        cap_key: Among which of the runs of its job it is counted while it waits.
    """

    concurrency_key: str | None = None
    max_concurrent: int | None = None
    rate_key: str | None = None
    cap_key: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What a job says.

    Attributes:
        rate: How many of its runs start in how long; None = no limit.
        rate_key: How the key of a bucket follows from the arguments; None = one bucket for all.
        concurrency_key: How the key of the runs that count together follows from the arguments; None = the job's name.
        max_concurrent: How many runs with the same key run at once; None = no limit.
        cap: How many runs wait at most; None = any number.
        cap_key: How the key of the runs that count together follows from the arguments; None = as that of those that
            run at once, or else one for all.
    """

    rate: Rate | None = None
    rate_key: UniqueKey | None = None
    concurrency_key: UniqueKey | None = None
    max_concurrent: int | None = None
    cap: Cap | None = None
    cap_key: UniqueKey | None = None

    def keys_of(
        self, job_name: str, args: Mapping[str, Any], rate_key: str | None = None, unknown: Collection[str] = ()
    ) -> Keys:
        """Return by what a run of the job with these arguments is limited.

        Args:
            job_name: The job.
            args: The arguments.
            rate_key: Its own so far, kept if a task's.
            unknown: The arguments that are not known yet; keys that are made of them are left out.
        """
        of_rate = rate_key if task_of_key(rate_key) is not None else None
        if of_rate is None and self.rate is not None:
            of_rate = OF_THE_JOB if self.rate_key is None else self.rate_key.of(job_name, args, unknown)
        of_cap = None
        if self.cap is not None:
            rule = self.cap_key or self.concurrency_key
            of_cap = OF_THE_JOB if rule is None else rule.of(job_name, args, unknown)
        if self.max_concurrent is None:
            return Keys(rate_key=of_rate, cap_key=of_cap)
        key = job_name if self.concurrency_key is None else self.concurrency_key.of(job_name, args, unknown)
        return Keys(key, None if key is None else self.max_concurrent, of_rate, of_cap)

    def to_json(self) -> dict[str, Any]:
        """The published form, without what is not said."""
        values: dict[str, Any] = {
            "rate": None if self.rate is None else self.rate.to_json(),
            "rate_key": None if self.rate_key is None else self.rate_key.to_json(),
            "concurrency_key": None if self.concurrency_key is None else self.concurrency_key.to_json(),
            "max_concurrent": self.max_concurrent,
            "cap": None if self.cap is None else self.cap.to_json(),
            "cap_key": None if self.cap_key is None else self.cap_key.to_json(),
        }
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """What a published form says."""
        return cls(
            rate=Rate.from_json(stored["rate"]) if "rate" in stored else None,
            rate_key=UniqueKey.from_json(stored["rate_key"]) if "rate_key" in stored else None,
            concurrency_key=UniqueKey.from_json(stored["concurrency_key"]) if "concurrency_key" in stored else None,
            max_concurrent=stored.get("max_concurrent"),
            cap=Cap.from_json(stored["cap"]) if "cap" in stored else None,
            cap_key=UniqueKey.from_json(stored["cap_key"]) if "cap_key" in stored else None,
        )
