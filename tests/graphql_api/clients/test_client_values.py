"""What the Python client is given and JSON has no form for is refused by its place, before anything is sent."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from cronograph.graphql.client import NewRun, ThrottleInput, interval
from cronograph.graphql.client.base.shapes import DEEPEST, written

LOOP: dict[str, Any] = {}
LOOP["again"] = LOOP


@pytest.mark.parametrize(("value", "message"), [
    ({"args": {"rate": float("nan")}}, r"args\.rate: must be a finite number, got nan"),
    ({"args": {"rates": [1.0, float("-inf")]}}, r"args\.rates\.1: must be a finite number, got -inf"),
    ({"args": {"to": "\ud800"}}, r"args\.to: must be a text that UTF-8 can write, got '\\ud800'"),
    ({"args": {"body": b"\xff"}}, r"args\.body: must be JSON, got b'\\xff' \(bytes\)"),
    ({"price": Decimal(1)}, r"price: must be JSON, got Decimal\('1'\) \(Decimal\)"),
    ({"args": {"pause": timedelta(1)}}, r"args\.pause: must be JSON, got datetime.timedelta\(days=1\)"),
    (LOOP, rf"again\.again\.again: must not be nested deeper than {DEEPEST} levels"),
    (float("inf"), r"the value: must be a finite number"),
])  # fmt: skip
def test_what_is_no_json_is_refused_by_its_place(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        written(value)


def test_what_is_json_is_sent_as_it_is() -> None:
    value = {"a": [1, 2.5, True, None, "ü", "🦉"], "b": {"c": ()}}
    assert written(value) == {"a": [1, 2.5, True, None, "ü", "🦉"], "b": {"c": []}}


def test_a_duration_is_sent_in_seconds() -> None:
    run = NewRun(
        job_name="mail", timeout=timedelta(minutes=5), throttle=ThrottleInput(period=timedelta(hours=1)), ttl=9
    )
    assert written([run]) == [{"jobName": "mail", "timeout": 300.0, "throttle": {"period": 3600.0}, "ttl": 9}]


@pytest.mark.parametrize(
    ("given", "value"),
    [(90, "90"), (1.5, "1.5"), ("15m", "15m"), (timedelta(minutes=5), "300"), (1_234_567, "1234567"), (600, "600")],
)
def test_an_interval_is_written_in_full(given: str | float | timedelta, value: str) -> None:
    assert interval(given).value == value
