"""What is no JSON is named by its place, with what to write instead."""

import math
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel

from cronograph.jobs.core.base.unwritable import unwritable


class Order(BaseModel):
    number: int = 7


def around(inner: Any, times: int) -> Any:
    for _ in range(times):
        inner = [inner]
    return inner


ITSELF: dict[str, Any] = {}
ITSELF["again"] = [ITSELF]


@pytest.mark.parametrize(
    ("value", "place", "says"),
    [
        ({1, 2}, (), "must be JSON, got set; make it a list"),
        ({"a": [1, {"b": frozenset()}]}, ("a", "1", "b"), "got frozenset; make it a list"),
        (math.nan, (), "got float nan; use None or a text"),
        ([1.5, -math.inf], ("1",), "got float -inf; use None or a text"),
        ({"at": datetime(2026, 3, 1, tzinfo=UTC)}, ("at",), "; write it as a text, by isoformat()"),
        (Order(), (), "got Order; give its model_dump(mode='json')"),
        (MappingProxyType({}), (), "got mappingproxy; make it a dict"),
        (b"x", (), "got bytes; write it as a text"),
        ({"a": object}, ("a",), "; use None, booleans, numbers, texts, and lists and dicts of these"),
        ({(1, 2): 3}, (), "got a key that is tuple; keys are texts"),
        ([10**5000], ("0",), "got int of 16610 bits; write it as a text"),
        (ITSELF, ("again", "0"), "it contains itself"),
        (around(1, 100_000), ("0",) * 501, "it is nested too deeply"),
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_the_first_thing_that_is_no_json_is_named(value: Any, place: tuple[str, ...], says: str) -> None:
    found = unwritable(value)
    assert found is not None
    assert found.place == place
    assert says in found.why


def test_deep_places_are_cut() -> None:
    found = unwritable({"items": [{"price": {1}}]})
    assert found is not None
    assert found.where == "items.0.price"
    far = unwritable({"x" * 100: {1}})
    assert far is not None
    assert far.where == f"{'x' * 60}…"


@pytest.mark.parametrize("value", [None, True, 7, 1.5, "text", (1, [2]), {"a": {"1": None, "": 2}}])
def test_what_is_json_is_not_named(value: Any) -> None:
    assert unwritable(value) is None
