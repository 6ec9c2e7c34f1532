"""Objects of GraphQL types that show the engine's values by the names of their fields."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import strawberry

from cronograph.graphql.execution.shown import FromModel, Makers


@strawberry.type
class Shown(FromModel):
    id: strawberry.ID
    parent_id: strawberry.ID | None
    name: str
    length: int
    loud: str

    MADE: ClassVar[Makers] = {"loud": lambda stored: stored.inner.name.upper()}
    PREFIX = "inner"

    @strawberry.field
    def computed(self) -> int:
        return self.length * 2


@dataclass(frozen=True, slots=True)
class Inner:
    name: str


@dataclass(frozen=True, slots=True)
class Stored:
    id: int
    parent_id: int | None
    inner: Inner
    never_shown: str = ""


def test_fields_are_read_of_the_value_by_name_and_keys_become_text() -> None:
    shown = Shown.from_model(Stored(7, None, Inner("seven")), length=3)
    assert shown == Shown(id=strawberry.ID("7"), parent_id=None, name="seven", length=3, loud="SEVEN")
    assert Shown.from_model(Stored(7, 6, Inner("seven"))).parent_id == "6"
    assert shown.length * 2 == 6


def test_a_field_that_nobody_has_is_named() -> None:
    shown = Shown.from_model(Stored(7, None, Inner("seven")))
    with pytest.raises(AttributeError, match="'Inner' object has no attribute 'length'"):
        _ = shown.length
    assert not hasattr(shown, "never_shown")


def test_an_object_that_was_made_by_its_fields_has_no_others() -> None:
    assert not hasattr(Shown(id=strawberry.ID("7"), parent_id=None, name="a", length=1, loud="A"), "stored")
