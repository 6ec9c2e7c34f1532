"""``rate=``, ``concurrency_key=``, ``max_concurrent=``, ``hold=``, ``cap=`` of ``@job`` and their keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..core.admission.caps import Cap as StoredCap
from ..core.admission.caps import Rate as StoredRate
from ..core.admission.caps import WhenFull, cap_faults, rate_faults
from ..core.base.errors import refuse
from ..core.limits import MAX_CONCURRENT, Limits, PlaceHold
from ..core.rules import number_faults
from ..core.run_spec import Seconds, seconds_of
from .unique_key import published_key

LIMITS: Final = ("rate", "rate_key", "concurrency_key", "max_concurrent", "hold", "cap", "cap_key")
"""The options that say how many runs start, how many run at once, and how many wait."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Limit how many runs start in a time: ``Rate(100, per="1m", burst=20)``.

    A token bucket: it holds ``burst`` tokens and gets ``limit`` new ones in ``per``, evenly; each start takes one.

    Attributes:
        limit: How many in ``per``; from one a day to 100,000 a second.
        per: Seconds, a ``timedelta``, or a text such as ``"1m"``; a second unless given.
        burst: How many start at once after a pause; a twentieth of the limit unless given, at least 1.
    """

    limit: int
    per: Seconds = 1.0
    burst: int | None = None

    def stored(self) -> StoredRate:
        """Return the rate as it is stored.

        Raises:
            InvalidInput: the first wrong part.
        """
        per: Any = seconds_of("rate.per", self.per)
        refuse(rate_faults(self.limit, per, self.burst))
        return StoredRate.of(self.limit, per, self.burst)


@dataclass(frozen=True, slots=True)
class Cap:
    """Limit how many runs wait: ``Cap(1000, when_full="drop_oldest")``.

    Attributes:
        limit: How many, from 1 to 100,000. Counted are those that have never begun.
        when_full: ``"refuse"``: an enqueue raises ``QueueFull``; ``"drop_oldest"``: the run that was enqueued first is
            skipped, with the reason ``queue_full``; ``"drop_newest"``: the new one is.
    """

    limit: int
    when_full: WhenFull | str = WhenFull.REFUSE

    def stored(self) -> StoredCap:
        """Return the cap as it is stored.

        Raises:
            InvalidInput: the first wrong part.
        """
        refuse(cap_faults(self.limit, self.when_full))
        return StoredCap(self.limit, WhenFull(self.when_full))


def limits_of(options: Mapping[str, Any], names: Mapping[str, str], schema: Mapping[str, Any]) -> Limits | None:
    """Return the limits of the options of ``@job``; None = nothing.

    Args:
        options: Those of ``LIMITS`` that are given.
        names: The arguments by the names of their parameters, with those that they have in JSON.
        schema: The JSON Schema of the arguments.

    Raises:
        InvalidInput: a number is wrong.
        ValueError: a key cannot be made of these arguments, or two options contradict each other.
        TypeError: an option has another kind of value.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if not given:
        return None
    rate, most, cap = given.get("rate"), given.get("max_concurrent"), given.get("cap")
    if rate is not None and not isinstance(rate, Rate):
        raise ValueError(f"rate: must be a Rate, e.g. Rate(100, per='1m'), got {rate!r:.60}")
    if cap is not None and not isinstance(cap, Cap):
        raise ValueError(f"cap: must be a Cap, e.g. Cap(1000, when_full='refuse'), got {cap!r:.60}")
    for key, needed in (
        ("rate_key", "rate"),
        ("concurrency_key", "max_concurrent"),
        ("hold", "max_concurrent"),
        ("cap_key", "cap"),
    ):
        if key in given and needed not in given:
            raise ValueError(f"{key}: says what is counted, but not how many; add {needed}=… or leave {key} out")
    hold = given.get("hold", PlaceHold.RUNNING)
    if hold not in tuple(PlaceHold):
        raise ValueError(f"hold: must be 'running' or 'unfinished', got {hold!r:.60}")
    if most is not None:
        refuse(number_faults(most, "max_concurrent", 1, MAX_CONCURRENT, whole=True))
    keys = {
        name: published_key(name, given[name], names, schema)
        for name in ("rate_key", "concurrency_key", "cap_key")
        if name in given
    }
    return Limits(
        rate=None if rate is None else rate.stored(),
        max_concurrent=most,
        hold=PlaceHold(hold),
        cap=None if cap is None else cap.stored(),
        rate_key=keys.get("rate_key"),
        concurrency_key=keys.get("concurrency_key"),
        cap_key=keys.get("cap_key"),
    )
