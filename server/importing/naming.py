"""Each task gets a name of its own."""

from collections.abc import Iterable
from dataclasses import replace

from .base.model import Carried


def with_own_names(found: Iterable[Carried]) -> list[Carried]:
    """The same with a number behind each name that was there before."""
    taken: set[str] = set()
    named: list[Carried] = []
    for one in found:
        name, number = one.name, 2
        while not taken.isdisjoint(names_of(name, len(one.schedules))):
            name, number = f"{one.name}-{number}", number + 1
        taken |= set(names_of(name, len(one.schedules)))
        named.append(replace(one, name=name))
    return named


def names_of(name: str, count: int) -> list[str]:
    """The names of the tasks that one line becomes: the second for the weekdays of "this day or this weekday"."""
    return [name] if count == 1 else [name, *(f"{name}-part-{number}" for number in range(2, count + 1))]
