"""Plain fields are answered past graphql-core's ceremony, and nobody can tell: not by data, errors or their order."""

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from inspect import isawaitable
from typing import Any, Final, cast

import pytest
import strawberry
from hypothesis import given, settings
from hypothesis import strategies as st
from strawberry.extensions import SchemaExtension
from strawberry.scalars import JSON
from strawberry.schema.config import StrawberryConfig

from cronograph.graphql.base.scalars import SCALARS, BigInt
from cronograph.graphql.execution.executor import LIMITS, PLAIN_FIELDS, OperationExecutor
from cronograph.graphql.execution.plain_fields import PlainFields
from cronograph.graphql.execution.schema_factory import build_schema
from cronograph.graphql.guard.limits import Limits
from graphql import (
    ExecutionResult,
    GraphQLObjectType,
    GraphQLSchema,
    Undefined,
    execute,  # pyright: ignore[reportUnknownVariableType] - generic
    parse,
)


class Colour(Enum):
    """An enumeration whose members are no words."""

    RED = "red"
    BLUE = "blue"


@strawberry.enum
class Size(Enum):
    """Another one, which the schema knows by other words than its members hold."""

    SMALL = 1
    LARGE = 2


NULLABLE: Final = (
    "text",
    "number",
    "fraction",
    "flag",
    "at",
    "big",
    "anything",
    "size",
    "key",
    "texts",
    "fractions",
    "sizes",
    "bigs",
    "moments",
)
REQUIRED: Final = tuple(f"sure{name.capitalize()}" for name in NULLABLE)
RESOLVED: Final = ("made", "waited", "sureMade", "fails", "greeted(name: $name)")


@strawberry.type
class Thing:
    """One of everything; what its attributes hold is up to the test."""

    text: str | None
    number: int | None
    fraction: float | None
    flag: bool | None
    at: datetime | None
    big: BigInt | None
    anything: JSON | None
    size: Size | None
    key: strawberry.ID | None
    texts: list[str] | None
    fractions: list[float | None] | None
    sizes: list[Size | None] | None
    bigs: list[BigInt] | None
    moments: list[datetime] | None
    sure_text: str
    sure_number: int
    sure_fraction: float
    sure_flag: bool
    sure_at: datetime
    sure_big: BigInt
    sure_anything: JSON
    sure_size: Size
    sure_key: strawberry.ID
    sure_texts: list[str]
    sure_fractions: list[float]
    sure_sizes: list[Size]
    sure_bigs: list[BigInt | None]
    sure_moments: list[datetime | None]
    other: "Thing | None"
    others: list["Thing"]
    sure_other: "Thing"

    @strawberry.field
    def made(self) -> str:
        return f"made of {self.number}"

    @strawberry.field
    async def waited(self) -> int | None:
        await asyncio.sleep(0)
        return self.number

    @strawberry.field
    async def sure_made(self) -> str:
        return self.sure_text

    @strawberry.field
    def fails(self) -> int | None:
        raise ValueError("it always does")

    @strawberry.field
    def perhaps(self) -> list["Thing | None"]:
        return list(self.others)

    @strawberry.field
    def greeted(self, name: str) -> str:
        return f"{name} {self.text}"


@dataclass
class Place:
    """The context: what the root answers."""

    thing: Any


@strawberry.type
class Query:
    """The root."""

    @strawberry.field
    def thing(self, info: strawberry.Info[Place, None]) -> Thing | None:
        found: Thing | None = info.context.thing
        return found


MOST: Final = 120


def schema_of(*, plain: bool) -> GraphQLSchema:
    """The schema as it is served, or as Strawberry makes it."""
    config = StrawberryConfig(scalar_map=SCALARS)
    schema = schema_converted(build_schema(Query, config=config) if plain else strawberry.Schema(Query, config=config))
    assert (PLAIN_FIELDS in schema.extensions) == plain
    schema.extensions[LIMITS] = Limits(answer_bytes=MOST)
    return schema


def schema_converted(schema: strawberry.Schema) -> GraphQLSchema:
    """graphql-core's schema behind Strawberry's."""
    converted: GraphQLSchema = vars(schema)["_schema"]
    return converted


PLAIN, ORDINARY = schema_of(plain=True), schema_of(plain=False)

moments = st.sampled_from([datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, 5, 60, tzinfo=UTC)])
usual: Final[dict[str, st.SearchStrategy[Any]]] = {
    "text": st.sampled_from(["", "word", "x" * 50]),
    "number": st.integers(-5, 5),
    "fraction": st.sampled_from([0.5, 2.0, 3]),
    "flag": st.booleans(),
    "at": moments,
    "big": st.sampled_from([1, 2**40]),
    "anything": st.sampled_from([1, "a", [1, {"b": None}], {"c": [True]}, {}]),
    "size": st.sampled_from(Size),
    "key": st.sampled_from(["1", "abc", 7]),
    "texts": st.lists(st.sampled_from(["", "word"]), max_size=3),
    "fractions": st.lists(st.sampled_from([0.5, 0.0, 3]), max_size=3),
    "sizes": st.lists(st.sampled_from(Size), max_size=3),
    "bigs": st.lists(st.sampled_from([1, 2**40]), max_size=3),
    "moments": st.lists(moments, max_size=2),
}
STRANGE: Final[list[Any]] = [2**31, float("nan"), "word", 3, 2.5, True, b"x", Colour.RED, [1], {}, object, {1, 2}]
STRANGE_LISTS: Final[list[Any]] = [
    [None],
    ["word", None],
    [float("inf"), 1.0],
    [Size.SMALL, "small"],
    [ValueError("it")],
]
odd: Final[st.SearchStrategy[Any]] = st.one_of(
    st.none(), st.sampled_from([*STRANGE, *STRANGE_LISTS]), st.builds(ValueError, st.just("a value that is an error"))
)


@st.composite
def things(draw: st.DrawFn, depth: int = 2) -> Thing:
    """A thing that holds mostly what it should, and sometimes what no answer can show."""
    strange = draw(st.booleans())
    values: dict[str, Any] = {}
    for name, strategy in usual.items():
        values[name] = draw(st.one_of(strategy, odd) if strange else st.one_of(strategy, st.none()))
        values[f"sure_{name}"] = draw(st.one_of(strategy, odd) if strange else strategy)
    below = things(depth - 1) if depth else st.none()
    values["other"], values["sure_other"] = draw(below), draw(below)
    values["others"] = draw(st.lists(below, max_size=2)) if depth else []
    return Thing(**values)


@st.composite
def selections(draw: st.DrawFn, depth: int = 2) -> str:
    """The fields of a thing: in any order, some twice, some renamed, in fragments, included or not."""
    parts: list[str] = []
    for _ in range(draw(st.integers(1, 7))):
        name = draw(
            st.sampled_from(
                (*NULLABLE, *NULLABLE, *NULLABLE, *REQUIRED, *RESOLVED, "__typename", "other", "others", "sureOther")
            )
        )
        # An alias by the field, so that no two fields have the same.
        alias = draw(st.sampled_from(["", f"a_{name.partition('(')[0]}: "]))
        rule = draw(st.sampled_from(["", "", " @include(if: $yes)", " @skip(if: $yes)"]))
        if "ther" not in name:
            parts.append(f"{alias}{name}{rule}")
        elif depth:
            parts.append(f"{alias}{name}{rule} {draw(selections(depth - 1))}")
        if depth and draw(st.integers(0, 4)) == 0:
            parts.append(f"... on Thing {draw(selections(depth - 1))}")
    return f"{{ {' '.join(parts) or 'text'} }}"


def answered(schema: GraphQLSchema, document: str, thing: Thing) -> str:
    """All that the executor answers, in its order, before errors are masked."""
    variables = {"yes": True, "name": "Ann"}

    async def execution() -> ExecutionResult:
        found: Any = execute(schema, parse(document), None, Place(thing), variables, executor_class=OperationExecutor)
        result: ExecutionResult = await found if isawaitable(found) else found
        return result

    result = asyncio.run(execution())
    return json.dumps([result.data, [error.formatted for error in result.errors or []]], default=str)


def asking(selection: str) -> str:
    """A document that uses all its variables."""
    used = "used: thing { greeted(name: $name) text @include(if: $yes) }"
    return f"query ($yes: Boolean!, $name: String!) {{ thing {selection} {used} }}"


@pytest.mark.costly
@settings(max_examples=60, deadline=None)
@given(selections(1), things(1))
def test_the_answer_is_that_of_the_ordinary_executor(selection: str, thing: Thing) -> None:
    document = asking(selection)
    assert answered(PLAIN, document, thing) == answered(ORDINARY, document, thing)


@pytest.mark.parametrize("field", ["sureText", "sureMade"])
@pytest.mark.parametrize("items", ["others", "perhaps"])
def test_an_item_of_a_list_that_cannot_be_shown_is_an_error_at_its_place(items: str, field: str) -> None:
    holding: Any = {name: None for plain in usual for name in (plain, f"sure_{plain}")}
    shown, not_shown = (
        Thing(**(holding | {"sure_text": text}), other=None, others=[], sure_other=cast("Thing", None))
        for text in ("a", None)
    )
    thing = Thing(**holding, other=None, others=[shown, not_shown, shown], sure_other=cast("Thing", None))
    said = answered(PLAIN, f"{{ thing {{ {items} {{ {field} }} }} }}", thing)
    assert said == answered(ORDINARY, f"{{ thing {{ {items} {{ {field} }} }} }}", thing)
    data, [error] = json.loads(said)
    assert error["path"] == ["thing", items, 1, field]
    assert data == {"thing": {items: [{field: "a"}, None, {field: "a"}]} if items == "perhaps" else None}


def test_fields_with_code_or_arguments_are_not_plain() -> None:
    fields, kind = PlainFields(PLAIN), PLAIN.type_map["Thing"]
    assert isinstance(kind, GraphQLObjectType)
    names = [name.partition("(")[0] for name in RESOLVED]
    found = [fields.find(kind, name) for name in names]
    assert {getattr(one, "attribute", "ready_")[:6] for one in found} == {"ready_"}
    assert fields.find(kind, "greeted") is None
    assert [name for name in (*NULLABLE, *REQUIRED) if not fields.find(kind, name)] == []


def test_the_code_of_a_field_is_not_asked_where_the_object_holds_its_value() -> None:
    holding: Any = {name: None for plain in usual for name in (plain, f"sure_{plain}")}
    thing = Thing(**holding, other=None, others=[], sure_other=cast("Thing", None))
    document = "{ thing { made waited fails } }"
    said = answered(PLAIN, document, thing)
    vars(thing).update(ready_made="held", ready_waited=None, ready_fails=3)
    assert json.loads(answered(PLAIN, document, thing)) == [{"thing": {"made": "held", "waited": None, "fails": 3}}, []]
    # What no answer can show is not held.
    vars(thing).update(ready_made=None, ready_waited=Undefined, ready_fails="word")
    assert answered(PLAIN, document, thing) == said


async def test_an_extension_that_wants_to_see_every_field_sees_the_plain_ones() -> None:
    seen: list[str] = []

    class Curious(SchemaExtension):
        def resolve(self, _next: Any, root: Any, info: Any, *args: str, **kwargs: Any) -> Any:
            seen.append(info.field_name)
            return _next(root, info, *args, **kwargs)

    schema = build_schema(Query, config=StrawberryConfig(scalar_map=SCALARS), extensions=[Curious])
    holding: Any = {name: None for plain in usual for name in (plain, f"sure_{plain}")}
    thing = Thing(**holding, other=None, others=[], sure_other=cast("Thing", None))
    result = await schema.execute("{ thing { text number } }", context_value=Place(thing))
    assert (result.data, seen) == ({"thing": {"text": None, "number": None}}, ["thing", "text", "number"])


def test_plain_fields_count_towards_the_size_of_the_answer() -> None:
    holding: Any = {name: None for plain in usual for name in (plain, f"sure_{plain}")}
    holding["text"] = "x" * 50
    thing = Thing(**holding, other=None, others=[], sure_other=cast("Thing", None))
    assert "LIMIT_ANSWER_BYTES" not in answered(PLAIN, "{ thing { text again: text } }", thing)
    assert "LIMIT_ANSWER_BYTES" in answered(PLAIN, "{ thing { text again: text more: text } }", thing)
