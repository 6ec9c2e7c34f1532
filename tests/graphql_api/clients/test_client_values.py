"""What the Python client is given and JSON has no form for is refused by its place, before anything is sent."""

from decimal import Decimal
from typing import Any

import pytest

from cronograph.graphql.client.base.shapes import DEEPEST, written

LOOP: dict[str, Any] = {}
LOOP["again"] = LOOP


@pytest.mark.parametrize(("value", "message"), [
    ({"args": {"rate": float("nan")}}, r"args\.rate: must be a finite number, got nan"),
    ({"args": {"rates": [1.0, float("-inf")]}}, r"args\.rates\.1: must be a finite number, got -inf"),
    ({"args": {"to": "\ud800"}}, r"args\.to: must be a text that UTF-8 can write, got '\\ud800'"),
    ({"args": {"body": b"\xff"}}, r"args\.body: must be JSON, got b'\\xff' \(bytes\)"),
    ({"price": Decimal(1)}, r"price: must be JSON, got Decimal\('1'\) \(Decimal\)"),
    (LOOP, rf"again\.again\.again: must not be nested deeper than {DEEPEST} levels"),
    (float("inf"), r"the value: must be a finite number"),
])  # fmt: skip
def test_what_is_no_json_is_refused_by_its_place(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        written(value)


def test_what_is_json_is_sent_as_it_is() -> None:
    value = {"a": [1, 2.5, True, None, "ü", "🦉"], "b": {"c": ()}}
    assert written(value) == {"a": [1, 2.5, True, None, "ü", "🦉"], "b": {"c": []}}
