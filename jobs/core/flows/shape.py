"""The shape of a flow: keys that exist and are unique, no circle, and an order in which each comes after its own."""

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from ..admission.labels import label_faults
from ..base.errors import InvalidInput, UserError, refuse
from ..rules import MAX_UNIQUE_KEY, name_faults, text_faults
from .model import NewMember
from .results import REFERENCE, references

MAX_MEMBERS: Final = 10_000
"""Runs that one request may put into a flow."""
_SHOWN: Final = 8
"""Keys of a circle that are reported."""


def ordered(members: Sequence[NewMember], known: Collection[str] = ()) -> list[NewMember]:
    """The members so that each follows those that it comes after, and otherwise in their order.

    Args:
        members: In any order.
        known: The keys of runs that are in the flow already.

    Raises:
        UserError: all that is wrong with the keys, the references and the shape, each with its path.
    """
    refuse(_faults(members, known))
    places = {one.key: place for place, one in enumerate(members)}
    missing = [len({key for key in one.after if key in places}) for one in members]
    following: list[list[int]] = [[] for _ in members]
    for place, one in enumerate(members):
        for key in dict.fromkeys(one.after):
            if key in places:
                following[places[key]].append(place)
    ready = [place for place, count in enumerate(missing) if count == 0]
    found: list[int] = []
    for place in ready:
        found.append(place)
        for later in following[place]:
            missing[later] -= 1
            if missing[later] == 0:
                ready.append(later)
    if len(found) < len(members):
        raise _circle(members, places, {place for place, count in enumerate(missing) if count})
    return [members[place] for place in found]


def _circle(members: Sequence[NewMember], places: dict[str, int], within: set[int]) -> InvalidInput:
    """The error that names one circle among the members that no order could take."""
    place, walked = min(within), dict[int, None]()
    while place not in walked:
        walked[place] = None
        place = next(places[key] for key in members[place].after if places.get(key) in within)
    circle = list(walked)[list(walked).index(place) :]
    keys = [members[one].key for one in reversed(circle)]
    start = keys.index(min(keys))
    keys = [*keys[start:], *keys[:start]]
    shown = keys if len(keys) <= _SHOWN else [*keys[: _SHOWN - 1], f"… {len(keys) - _SHOWN} more …", keys[-1]]
    path = " → ".join(f"'{key}'" if not key.startswith("…") else key for key in (*shown, keys[0]))
    return InvalidInput(
        f"after: these runs wait for each other in a circle, so that none could ever start: {path}; "
        "take one of them out of the 'after' of the next",
        path=("runs", str(places[keys[0]]), "after"),
    )


def _faults(members: Sequence[NewMember], known: Collection[str]) -> Iterator[UserError]:
    if len(members) > MAX_MEMBERS:
        yield InvalidInput(
            f"runs: must be at most {MAX_MEMBERS:,} in one request, got {len(members):,}; "
            "enqueue the flow open, and add the others to it",
            path=("runs",),
        )
        return
    seen: dict[str, int] = {}
    keys = {*known, *(one.key for one in members)}
    before = _before(members)
    for place, one in enumerate(members):
        for fault in (*_key_faults(one, seen, known), *_after_faults(one, keys), *_result_faults(one, before, known)):
            yield fault.with_prefix("runs", str(place))
        seen.setdefault(one.key, place)


def _key_faults(one: NewMember, seen: dict[str, int], known: Collection[str]) -> Iterator[UserError]:
    yield from text_faults(one.key, "key", least=1, most=MAX_UNIQUE_KEY)
    if one.key in seen:
        message = f"key: '{one.key}' is the key of runs.{seen[one.key]} too; give each run of a flow a key of its own"
        yield InvalidInput(message, path=("key",))
    elif one.key in known:
        message = f"key: '{one.key}' is the key of a run of the flow already; give each run of it a key of its own"
        yield InvalidInput(message, path=("key",))


def _after_faults(one: NewMember, keys: Collection[str]) -> Iterator[UserError]:
    for place, key in enumerate(one.after):
        if key not in keys:
            near = get_close_matches(key, list(keys), 1)
            hint = f"did you mean '{near[0]}'?" if near else "name the key of another run of this flow"
            message = f"after: '{one.key}' comes after '{key}', and no run of the flow has that key; {hint}"
            yield InvalidInput(message, path=("after", str(place)))


def _before(members: Sequence[NewMember]) -> dict[str, tuple[str, ...]]:
    return {one.key: one.after for one in members}


def _result_faults(one: NewMember, before: dict[str, tuple[str, ...]], known: Collection[str]) -> Iterator[UserError]:
    found = references(one.run.args)
    if not found:
        return
    earlier = _earlier(one, before)
    for place, key in found.items():
        if not isinstance(key, str) or (key not in earlier and not (earlier & set(known) and key in known)):
            message = (
                f"argument '{'.'.join(place)}': {{\"{REFERENCE}\": {key!r}}} must name a run that '{one.key}' comes "
                "after; add its key to 'after'"
            )
            yield InvalidInput(message, path=("args", *place))


def _earlier(one: NewMember, before: dict[str, tuple[str, ...]]) -> set[str]:
    """The keys of all runs that end before this one starts."""
    waiting, earlier = list(one.after), set[str]()
    while waiting:
        key = waiting.pop()
        if key not in earlier:
            earlier.add(key)
            waiting += before.get(key, ())
    return earlier


def flow_faults(name: object, unique_key: object, labels: object = None) -> Iterator[InvalidInput]:
    """What is wrong with the name, the key and the labels of a flow."""
    yield from name_faults(name, "name")
    if unique_key is not None:
        yield from text_faults(unique_key, "uniqueKey", least=1, most=MAX_UNIQUE_KEY)
    if labels is not None:
        yield from label_faults(labels)
