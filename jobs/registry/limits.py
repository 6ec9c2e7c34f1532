"""Limits of a job as its author writes them: how many at once and how often, and the key of which one run waits."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, TypeAlias, cast

from ..core.admission.caps import Cap as StoredCap
from ..core.admission.caps import Rate as StoredRate
from ..core.admission.caps import WhenFull, cap_faults, rate_faults
from ..core.base.errors import refuse
from ..core.limits import MAX_CONCURRENT, Limits, PlaceHold, UniqueKey, pieces
from ..core.rules import number_faults
from ..core.run_spec import Seconds, seconds_of
from .functions import unreadable


def known_argument(option: str, name: str, names: Mapping[str, str]) -> str:
    """Return the name in JSON of an argument that an option names.

    Args:
        option: The option, for the message.
        names: The arguments by the names of their parameters, with those that they have in JSON.

    Raises:
        ValueError: the job has no such argument.
    """
    if name in names:
        return names[name]
    near = get_close_matches(name, names, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"it takes {', '.join(names) or 'none'}"
    raise ValueError(f"{option}: the job has no argument '{name[:60]}'; {hint}")


KeyFunction: TypeAlias = Callable[..., str | None]
"""Makes a key of a run's arguments, which it gets by name: all of them, or those that it takes; None = no key."""

_EXAMPLE = "('order_id',) or 'orders-{order_id}'"


def key_of(option: object, names: Mapping[str, str], schema: Mapping[str, Any]) -> tuple[UniqueKey, KeyFunction | None]:
    """Return the published form of the key, and the function that makes it, if only a function can.

    Args:
        option: The value given to ``@job``.
        names: The arguments by the names of their parameters, with those that they have in JSON.
        schema: The JSON Schema of the arguments.

    Raises:
        ValueError: it can make no key of these arguments.
    """
    if callable(option):
        return UniqueKey(in_code=True), _function(cast("KeyFunction", option), names)
    try:
        return published_key("unique_key", option, names, schema), None
    except TypeError:
        raise ValueError(
            f"unique_key: must be names of arguments, a text or a function, e.g. unique_key={_EXAMPLE}, got "
            f"{option!r:.60}"
        ) from None


def published_key(field: str, option: object, names: Mapping[str, str], schema: Mapping[str, Any]) -> UniqueKey:
    """Return the key that the nodes and the API can make as well.

    Raises:
        ValueError: it can make no key of these arguments.
        TypeError: it is neither names nor a text.
    """
    if isinstance(option, str):
        return _template(field, option, names, schema)
    if isinstance(option, list | tuple):
        several = cast("Sequence[object]", option)
        if all(isinstance(one, str) for one in several):
            return UniqueKey.declared([_known(field, str(one), names) for one in several], None, schema)
    raise TypeError(
        f"{field}: must be names of arguments or a text with them in braces, e.g. {field}={_EXAMPLE}, "
        f"got {option!r:.60}"
    )


def _template(field: str, text: str, names: Mapping[str, str], schema: Mapping[str, Any]) -> UniqueKey:
    try:
        found = pieces(text)
    except ValueError as error:
        raise ValueError(
            f"{field}: the braces in {text!r:.60} must each hold the name of an argument ({error})"
            f"{'; use a function for anything else' if field == 'unique_key' else ''}"
        ) from None
    if text in names:
        raise ValueError(f"{field}: {text!r} is the same text for every run; write ({text!r},) to use the argument")
    if not text:
        raise ValueError(f"{field}: must not be empty; write e.g. {field}={_EXAMPLE}")
    inside = dict.fromkeys(name for _, name in found if name)
    outside = {name: _known(field, name, names) for name in inside}
    escaped = [(before.replace("{", "{{").replace("}", "}}"), name) for before, name in found]
    template = "".join(before + (f"{{{outside[name]}}}" if name else "") for before, name in escaped)
    return UniqueKey.declared(tuple(outside.values()), template, schema)


def _known(field: str, name: str, names: Mapping[str, str]) -> str:
    return known_argument(field, name, names)


def _function(function: KeyFunction, names: Mapping[str, str]) -> KeyFunction:
    """Return ``function`` in a form that takes all arguments of the job by name."""
    if inspect.iscoroutinefunction(function):
        raise ValueError("unique_key: must be a plain function, got an 'async def'")
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        raise ValueError(unreadable("unique_key", function)) from None
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return function
    for one in parameters:
        by_name = one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and one.name in names
        if not by_name and one.default is one.empty and one.kind is not one.VAR_POSITIONAL:
            takes = ", ".join(names) or "none"
            raise ValueError(
                f"unique_key: the function gets the job's arguments by name ({takes}), but its parameter '{one.name}' "
                "is none of them"
            )
    taken = [one.name for one in parameters if one.name in names]

    def called(**values: object) -> str | None:
        return function(**{name: values[name] for name in taken})

    return called


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
