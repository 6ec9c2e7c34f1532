"""Objects of GraphQL types that are made of the engine's values by the names of their fields."""

from dataclasses import dataclass

import pytest
import strawberry

from cronograph.graphql.execution.mirror import mirror


@strawberry.type
class Shown:
    id: strawberry.ID
    parent_id: strawberry.ID | None
    name: str
    length: int

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


def test_fields_are_taken_over_by_name_and_keys_become_text() -> None:
    shown = mirror(Shown, Stored(7, None, Inner("seven")), "inner", length=3)
    assert shown == Shown(id=strawberry.ID("7"), parent_id=None, name="seven", length=3)
    assert mirror(Shown, Stored(7, 6, Inner("seven")), "inner", length=3).parent_id == "6"


def test_a_field_that_nobody_has_is_named() -> None:
    with pytest.raises(AttributeError, match="'Inner' object has no attribute 'length'"):
        mirror(Shown, Stored(7, None, Inner("seven")), "inner")
