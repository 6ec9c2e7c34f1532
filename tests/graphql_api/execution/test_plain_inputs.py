"""Inputs are made by plan, and nobody can tell: they are what Strawberry makes of the same values."""

import json
from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from itertools import product
from typing import Any, Final

import pytest
import strawberry
from strawberry.scalars import JSON
from strawberry.schema.config import StrawberryConfig

from cronograph.graphql.base.scalars import SCALARS
from cronograph.graphql.execution.plain_inputs import InputPlan
from cronograph.graphql.execution.schema_factory import build_schema


@strawberry.enum
class Size(Enum):
    """Words of the API that differ from those of Python."""

    SMALL = 1
    LARGE = 2


@strawberry.input
class Inner:
    """An object within another."""

    some_name: str
    at: datetime | None = None
    sizes: list[Size] | None = strawberry.UNSET


@strawberry.input
class Outer:
    """One of everything."""

    number: int
    absent: int | None
    text: str | None = strawberry.UNSET
    size: Size = Size.SMALL
    anything: JSON | None = None
    made: list[str] = strawberry.field(default_factory=lambda: ["made"])
    inner: Inner | None = None
    many: list[Inner] = strawberry.field(default_factory=list[Inner])
    perhaps: list[Inner | None] | None = None
    nested: list[list[Inner]] | None = strawberry.UNSET


@strawberry.type
class Query:
    """Tells what reached it."""

    @strawberry.field
    def told(self, outer: Outer) -> str:
        return repr(outer)


SMALLEST: Final[dict[str, Any]] = {"someName": "a"}
FULL: Final[dict[str, Any]] = {"someName": "b", "at": "2026-01-02T03:04:05Z", "sizes": ["LARGE", "SMALL"]}
CHOICES: Final[dict[str, list[Any]]] = {
    "text": ["", None],
    "size": ["LARGE"],
    "anything": [{"a": [1, None]}, None, "x"],
    "made": [[], ["b"]],
    "inner": [None, SMALLEST, FULL],
    "many": [[], [SMALLEST, FULL], FULL],
    "perhaps": [None, [None, SMALLEST], SMALLEST],
    "nested": [None, [[SMALLEST], []], FULL],
}
LEFT_OUT: Final = object()


def inputs() -> Iterator[dict[str, Any]]:
    """Each value of each field with each of the others' first and last, and without them."""
    for name, values in CHOICES.items():
        for value, others in product(values, (0, -1, None)):
            rest = {} if others is None else {other: choice[others] for other, choice in CHOICES.items()}
            yield {"number": 1, "absent": None, **rest, name: value}
    yield {"number": 1}


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """A plan is kept with the type, where schemas of other tests would find it."""
    yield
    for kind in (Inner, Outer):
        vars(kind)["__strawberry_definition__"].from_input = None


def answers(schema: strawberry.Schema) -> list[str]:
    """Return what reached the resolver for each input, or why none did."""
    document = "query ($outer: Outer!) { told(outer: $outer) }"
    found = [schema.execute_sync(document, {"outer": value}) for value in inputs()]
    return [json.dumps([one.data, [str(error.message) for error in one.errors or ()]]) for one in found]


def test_an_input_is_what_strawberry_makes_of_it() -> None:
    config = StrawberryConfig(scalar_map=SCALARS)
    usual = answers(strawberry.Schema(Query, config=config))
    planned = build_schema(Query, config=config)
    for kind in (Inner, Outer):
        assert isinstance(vars(kind)["__strawberry_definition__"].from_input, InputPlan)
    assert answers(planned) == usual
    assert sum("Outer(" in one for one in usual) > 40
