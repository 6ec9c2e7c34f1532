"""What a run takes from another one of its flow: ``{"$result": "key"}`` in its arguments."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from ..model import Json

REFERENCE: Final = "$result"
"""The only member of an object that stands for the result of a run; its value is the key of that run in the flow."""


def references(args: object) -> dict[tuple[str, ...], object]:
    """Where arguments refer to results, and what each reference names; an object with more members is none."""
    return dict(_found(args))


def unknown_in(args: object) -> frozenset[str]:
    """Return the arguments that take results, in whole or in part: they are known when their run is released."""
    return frozenset(place[0] for place in references(args))


def _found(args: object) -> Iterator[tuple[tuple[str, ...], object]]:
    waiting: list[tuple[tuple[str, ...], object]] = [((), args)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Mapping):
            members = cast("Mapping[str, object]", value)
            # At the top there are the names of parameters, and one may be called like this.
            if place and set(members) == {REFERENCE}:
                yield place, members[REFERENCE]
            else:
                waiting += [((*place, name), one) for name, one in members.items()]
        elif isinstance(value, list):
            items = cast("list[object]", value)
            waiting += [((*place, str(index)), one) for index, one in enumerate(items)]


def filled(args: Mapping[str, Json], values: Mapping[str, Json]) -> dict[str, Json]:
    """A copy of arguments with results in the place of their references.

    Args:
        args: As they were submitted.
        values: Key to result of every run that is referred to; None = it has none.
    """
    return {name: _filled(one, values) for name, one in args.items()}


def _filled(value: Json, values: Mapping[str, Any]) -> Json:
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Json]", value)
        if set(members) == {REFERENCE} and members[REFERENCE] in values:
            return values[members[REFERENCE]]
        return {name: _filled(one, values) for name, one in members.items()}
    if isinstance(value, list):
        return [_filled(one, values) for one in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def with_results(value: object, results: Mapping[object, Json]) -> Json:
    """A value, with references in the place of what stands for results; itself if nothing in it does.

    Args:
        value: An argument as a program gives it.
        results: The reference for each thing that stands for a result.
    """
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        made = {name: with_results(one, results) for name, one in members.items()}
        return made if any(made[name] is not members[name] for name in made) else cast("Json", value)
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        listed = [with_results(one, results) for one in items]
        return listed if any(new is not old for new, old in zip(listed, items, strict=True)) else cast("Json", value)
    try:
        return results.get(value, value)
    except TypeError:
        return value
