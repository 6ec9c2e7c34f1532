"""What was serialized is read back before it is accepted: a run gets the arguments that it was given, or is refused."""

import dataclasses
import enum
import json
import re
import uuid
from collections import deque
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    PlainSerializer,
    PrivateAttr,
    SecretBytes,
    SecretStr,
    SerializationInfo,
    computed_field,
    field_validator,
    model_serializer,
)
from pydantic.alias_generators import to_camel

from cronograph.jobs import Flow, InvalidInput, JobContext, Result, job
from cronograph.jobs.base.step_shape import Shape
from cronograph.jobs.core.base.read_back import changed
from cronograph.jobs.queue.enqueue.requests import args_text, new_run
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue, drain, run_job


class Login(BaseModel):
    user: str
    password: SecretStr


class Computed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    width: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def area(self) -> int:
        return self.width * 2


class TwoAliases(BaseModel):
    user_id: int = Field(validation_alias="uid", serialization_alias="userId")


class Excluded(BaseModel):
    a: int
    b: int = Field(exclude=True)


class LeftOut(BaseModel):
    a: int = Field(default=0, exclude=True)


class OfJson(BaseModel):
    inner: Json[Any]


class Base(BaseModel):
    a: int


class Further(Base):
    b: int = 0


class Doubled(BaseModel):
    x: int

    @field_validator("x")
    @classmethod
    def double(cls, value: int) -> int:
        return value * 2


class Encoded(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="utf8")
    data: bytes


class BothEncoded(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    data: bytes


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date
    some: set[int]


class Rounded(BaseModel):
    price: Annotated[Decimal, PlainSerializer(lambda value: f"{value:.1f}")]


class Hidden(BaseModel):
    a: int
    _note: str = PrivateAttr(default="")


class Fresh(BaseModel):
    key: uuid.UUID = Field(default_factory=uuid.uuid4)
    note: str = ""


class Few(BaseModel):
    a: int = 1
    b: int = 2


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    x: int
    y: str = "here"


@dataclasses.dataclass
class Row:
    a: int
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class Identical:
    a: int


def hidden() -> Hidden:
    made = Hidden(a=1)
    made._note = "kept in memory"  # noqa: SLF001 - as a class with methods would set it
    return made


NEW_YORK = ZoneInfo("America/New_York")
TWICE = datetime(2026, 11, 1, 1, 30, fold=1, tzinfo=NEW_YORK)

ARRIVE: list[tuple[Any, Any]] = [
    (Colour, Colour.BLUE),
    (Point, Point(1)),
    (Row, Row(1, ["x"])),
    (Few, Few(b=5)),
    (BothEncoded, BothEncoded(data=b"\xff\x00")),
    (Strict, Strict(day=date(2026, 1, 1), some={1, 2})),
    (LeftOut, LeftOut()),
    (datetime, TWICE),
    (time, time(1, 2, tzinfo=UTC)),
    (timedelta, timedelta(days=-1, microseconds=1)),
    (Decimal, Decimal("0.10000000000000000000000000001")),
    (Fraction, Fraction(1, 3)),
    (bytes, "é".encode()),
    (datetime, TWICE.replace(tzinfo=None, fold=0)),
    (time, time(1, 2, tzinfo=timezone(timedelta(hours=2)))),
    (deque[int], deque([1, 2])),
    (set[int], {3, 1}),
    (frozenset[str], frozenset("ab")),
    (tuple[int, str], (1, "a")),
    (dict[int, str], {1: "a"}),
    (dict[tuple[int, int], str], {}),
    (Sequence[str], ("a", "b")),
    (int | str, "1"),
    (int | bool, True),
    (Literal[1, "1"], "1"),
    (int, 2**63 + 1),
    (Path, Path("/a b/é")),
    (Any, {"deep": [(1, 2), None]}),
    (complex, 1 + 2j),
]

REFUSED: list[tuple[Any, Any, str]] = [
    (SecretStr, SecretStr("hunter2"), "'value' of job 'takes': is a secret, whose JSON is a mask"),
    (SecretBytes, SecretBytes(b"hunter2"), "is a secret"),
    (Login, Login(user="ada", password=SecretStr("hunter2")), "argument 'value.password' of job 'takes': is a secret"),
    (list[Login], [Login(user="ada", password=SecretStr("x"))], "argument 'value.0.password'"),
    (Computed, Computed(width=3), "argument 'value.area' .* cannot be read back from its JSON: Extra inputs"),
    (
        TwoAliases,
        TwoAliases.model_validate({"uid": 5}),
        "argument 'value.uid' .* cannot be read back from its JSON: Field required",
    ),
    (Excluded, Excluded(a=1, b=2), "argument 'value.b' .* cannot be read back"),
    (LeftOut, LeftOut(a=3), "argument 'value.a' of job 'takes': is 3, but reads back from its JSON as 0"),
    (OfJson, OfJson(inner='{"a": 1}'), "argument 'value.inner' .* cannot be read back"),
    (Base, Further(a=1, b=7), "argument 'value' .* is Further"),
    (Doubled, Doubled(x=3), "argument 'value.x' of job 'takes': is 6, but reads back from its JSON as 12"),
    (Annotated[int, AfterValidator(lambda x: x + 1)], 1, "is 2, but reads back from its JSON as 3"),
    (Encoded, Encoded(data=b"\xff\x00hi"), "argument 'value.data' of job 'takes'"),
    (Rounded, Rounded(price=Decimal("1.25")), "argument 'value.price' .* is Decimal"),
    (Hidden, hidden(), "argument 'value._note' of job 'takes': is 'kept in memory'"),
    (re.Pattern, re.compile("a+", re.IGNORECASE), "is re.compile"),
    (str | date, date(2026, 1, 1), "is datetime.date.2026, 1, 1., but reads back from its JSON as '2026-01-01'"),
    (Any, {"d": date(2026, 1, 1)}, "argument 'value.d' of job 'takes'"),
    (Any, {"d": datetime(2026, 1, 1)}, "argument 'value.d' of job 'takes': is datetime.*, but reads back .* '2026"),  # noqa: DTZ001 - naive
    (Any, [time(1)], "argument 'value.0' of job 'takes': is datetime.time"),
    (Any, {1, 2}, "argument 'value' of job 'takes': is {1, 2}"),
    (Any, {1: 2}, "argument 'value' of job 'takes': is {1: 2}"),
    (Any, Colour.BLUE, "is <Colour.BLUE: 'blue'>, but reads back from its JSON as 'blue'"),
    (Any, b"abc", "is b'abc', but reads back from its JSON as 'abc'"),
    (Any, Point(1), "argument 'value' of job 'takes': is Point"),
    (datetime, TWICE.replace(tzinfo=None), "is .*fold=1., but reads back from its JSON as datetime.*30.;"),
    (
        list[time],
        [time(1, 2, tzinfo=NEW_YORK)],
        "argument 'value.0' .* is .*ZoneInfo.*, but reads back from its JSON as",
    ),
    (deque[int], deque([1], maxlen=5), "is deque.*maxlen=5., but reads back from its JSON as deque"),
    (deque[time], deque([time(1, fold=1)]), "argument 'value.0' .* is .*fold=1"),
    (bytes, b"\xff\x00", "cannot be written as JSON: bytes must be UTF-8"),
    (float, float("nan"), "args: must be JSON"),
    (str, "a\ud800", "half of a surrogate pair"),
    (str, "a\0b", "U.0000"),
]


def taking(annotation: Any) -> Any:
    """A job that takes one such argument, in a registry of its own."""

    async def takes(value: Any, other: Any = None) -> None: ...

    takes.__annotations__ = {"value": annotation, "return": None}
    return job("takes", registry=Registry())(takes)


def arrived(one: Any, value: Any) -> Any:
    """The argument of the run that is enqueued with this one, by the JSON that a database keeps of it."""
    stored = json.loads(args_text(one.run(value).args))
    return one.definition.bind(stored, None)["value"]


def named(cases: Sequence[tuple[Any, ...]]) -> list[str]:
    return [f"{place}-{getattr(case[0], '__name__', case[0])}" for place, case in enumerate(cases)]


@pytest.mark.parametrize(("annotation", "value"), ARRIVE, ids=named(ARRIVE))
def test_the_run_gets_the_value_that_was_given(annotation: Any, value: Any) -> None:
    assert changed(value, arrived(taking(annotation), value), lambda: False) is None


def test_a_class_without_equality_is_judged_by_its_json() -> None:
    assert arrived(taking(Identical), Identical(7)).a == 7
    assert changed(Identical(7), Identical(7), lambda: True) is None
    assert changed(object(), object(), lambda: False) is not None
    assert changed(object(), 5, lambda: True) is not None


@pytest.mark.parametrize(("annotation", "value", "message"), REFUSED, ids=named(REFUSED))
def test_a_value_that_would_arrive_as_another_is_refused_where_it_is_given(
    annotation: Any, value: Any, message: str
) -> None:
    one = taking(annotation)
    with pytest.raises(InvalidInput, match=message) as caught:
        new_run(one.run(value))
    assert caught.value.path[0] == "args"


@pytest.mark.parametrize(("annotation", "value", "message"), REFUSED, ids=named(REFUSED))
def test_the_same_is_refused_beside_an_argument_that_is_not_known_yet(
    annotation: Any, value: Any, message: str
) -> None:
    one = taking(annotation)
    flow = Flow("both")
    first = flow.add("first", taking(int), 1)
    with pytest.raises(InvalidInput, match=message):
        new_run(flow.add("second", one, value, other=first.result).spec)


def test_an_argument_beside_one_that_is_not_known_yet_is_stored_as_by_itself() -> None:
    flow = Flow("both")
    first = flow.add("first", taking(int), 1)
    for annotation, value in ARRIVE:
        one = taking(annotation)
        beside = flow.add(f"{annotation}", one, value, other=first.result).spec.args
        assert beside == {**one.run(value).args, "other": {"$result": "first"}}


def test_a_default_that_is_another_one_each_time_is_stored_as_it_was_given() -> None:
    sent = Fresh()
    assert arrived(taking(Fresh), sent) == sent
    assert arrived(taking(list[Fresh]), [sent]) == [sent]


def test_fields_that_nobody_has_set_stay_unset() -> None:
    assert arrived(taking(Few), Few(b=5)).model_fields_set == {"b"}


@pytest.mark.parametrize("depth", [100, 220])
def test_a_value_may_be_nested_deeply(depth: int) -> None:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    assert arrived(taking(Any), value) == value


async def test_a_run_on_a_node_gets_what_was_given() -> None:
    got: list[Any] = []

    @job(registry=Registry())
    async def takes(one: BothEncoded, two: Strict, three: Few) -> None:
        got.extend([one, two, three])

    given = BothEncoded(data=b"\xff"), Strict(day=date(2026, 1, 1), some={1}), Few(b=5)
    async with Queue(takes.registry) as queue:
        await takes.enqueue(None, *given)
        await drain(queue)
    assert got == list(given)


STEPS: list[tuple[Any, Any]] = [
    (SecretStr, SecretStr("hunter2")),
    (Login, Login(user="ada", password=SecretStr("hunter2"))),
    (Computed, Computed(width=3)),
    (Excluded, Excluded(a=1, b=2)),
    (Base, Further(a=1, b=7)),
    (Doubled, Doubled(x=3)),
    (re.Pattern, re.compile("a+", re.IGNORECASE)),
    (datetime, TWICE.replace(tzinfo=None)),
    (time, time(1, 2, tzinfo=NEW_YORK)),
    (deque[int], deque([1], maxlen=5)),
    (Any, {1: 2}),
    (Any, {(1, 2): 3}),
]


@pytest.mark.parametrize(("annotation", "value"), STEPS, ids=named(STEPS))
async def test_a_step_whose_value_a_later_attempt_would_get_as_another_is_refused(annotation: Any, value: Any) -> None:
    def measured() -> Any:
        return value

    measured.__annotations__ = {"return": annotation}

    @job(registry=Registry(), retries=3)
    async def measures(ctx: JobContext) -> None:
        await ctx.step("measure", measured)

    ended = await run_job(measures)
    assert (ended.state, ended.error_type) == ("failed", "StepUnstorable")
    assert "hunter2" not in str(ended.error)


class ByAlias(BaseModel):
    user_id: int = Field(alias="userId")


class WrittenByAlias(BaseModel):
    user_id: int = Field(serialization_alias="userId")


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (ByAlias, ByAlias(userId=5), "ByAlias(user_id=5)"),
        (WrittenByAlias, WrittenByAlias(user_id=5), "WrittenByAlias(user_id=5)"),
        (date, datetime(2026, 1, 1), "datetime.date(2026, 1, 1)"),  # noqa: DTZ001 - a date
    ],
)
async def test_a_later_attempt_gets_what_a_step_returned(annotation: Any, value: Any, expected: str) -> None:
    def measured() -> Any:
        return value

    measured.__annotations__ = {"return": annotation}

    @job(registry=Registry(), retries=0)
    async def measures(ctx: JobContext) -> Result:
        got = await ctx.step("measure", measured)
        await ctx.sleep("a while", 1)
        return Result(value=repr(got))

    async with Queue(measures.registry) as queue:
        await measures.enqueue()
        (run,) = await drain(queue)
    assert run.last.value == expected


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)
    user_id: int = 5


class Counted(BaseModel):
    """Holds lists of models that are read by an alias."""

    users: list[ByAlias]


def test_a_step_value_is_written_once_unless_its_type_has_aliases() -> None:
    class Tracked(BaseModel):
        @model_serializer
        def write(self, info: SerializationInfo) -> dict[str, int]:
            written.append(info.by_alias)
            return {}

    written = list[bool | None]()
    assert Shape(Tracked).dump("measure", Tracked()) == {}
    assert written == [None]
    for annotation, value, document in (
        (Camel, Camel.model_validate({"userId": 7}), {"userId": 7}),
        (Counted, Counted(users=[ByAlias(userId=5)]), {"users": [{"userId": 5}]}),
        (list[ByAlias | None], [ByAlias(userId=5)], [{"userId": 5}]),
    ):
        assert Shape(annotation).dump("measure", value) == document, annotation


async def test_a_step_may_return_what_its_annotation_makes_a_value_of() -> None:
    def row() -> Base:
        return {"a": "5"}  # type: ignore[return-value]

    @job(registry=Registry())
    async def reads(ctx: JobContext) -> Result:
        return Result(value=repr(await ctx.step("row", row)))

    assert (await run_job(reads)).value == "Base(a=5)"


@pytest.mark.parametrize("value", [{1: 2}, {"a": [{None: 1}]}, {True: 1}, {(1, 2): 3}])
async def test_keys_that_are_no_texts_are_refused_everywhere(value: Any) -> None:
    @job(registry=Registry(), retries=0)
    async def returns() -> Result:
        return Result(value=value)

    @job(registry=Registry(), retries=0)
    async def keeps(ctx: JobContext) -> None:
        ctx.save_checkpoint(value)

    for one in (returns, keeps):
        ended = await run_job(one)
        assert ended.state == "failed"
        assert "got a key that is" in str(ended.error)
