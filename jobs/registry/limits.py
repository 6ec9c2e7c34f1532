"""``rate=``, ``rate_key=``, ``concurrency_key=`` and ``max_concurrent=`` of ``@job``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..core.base.errors import refuse
from ..core.base.rates import Rate as StoredRate
from ..core.base.rates import rate_faults
from ..core.limits import MAX_CONCURRENT, Limits
from ..core.rules import number_faults
from .seconds import Seconds, seconds_of
from .unique_key import published_key

LIMITS: Final = ("rate", "rate_key", "concurrency_key", "max_concurrent")
"""The options that say how many runs start, and how many run at once."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How many runs start in how long: ``Rate(100, per="1m", burst=20)``.

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
        """The rate as it is stored.

        Raises:
            InvalidInput: the first part that is not what it must be.
        """
        per: Any = seconds_of("rate.per", self.per)
        refuse(rate_faults(self.limit, per, self.burst))
        return StoredRate.of(self.limit, per, self.burst)


def limits_of(options: Mapping[str, Any], names: Mapping[str, str], schema: Mapping[str, Any]) -> Limits | None:
    """What the options of ``@job`` say; None = nothing.

    Args:
        options: Those of ``LIMITS`` that are given.
        names: The arguments by the names of their parameters, with those that they have in JSON.
        schema: The JSON Schema of the arguments.

    Raises:
        InvalidInput: a number is not what it must be.
        ValueError: a key cannot be made of these arguments, or two options contradict each other.
        TypeError: an option has another kind of value.
    """
    said = {name: value for name, value in options.items() if value is not None}
    if not said:
        return None
    rate, most = said.get("rate"), said.get("max_concurrent")
    if rate is not None and not isinstance(rate, Rate):
        raise ValueError(f"rate: must be a Rate, e.g. Rate(100, per='1m'), got {rate!r:.60}")
    for key, needed in (("rate_key", "rate"), ("concurrency_key", "max_concurrent")):
        if key in said and needed not in said:
            raise ValueError(f"{key}: says what is counted, but not how many; add {needed}=… or leave {key} out")
    if most is not None:
        refuse(number_faults(most, "max_concurrent", 1, MAX_CONCURRENT, whole=True))
    keys = {
        name: published_key(name, said[name], names, schema) for name in ("rate_key", "concurrency_key") if name in said
    }
    return Limits(rate=None if rate is None else rate.stored(), max_concurrent=most, **keys)
