"""Arguments are judged by the schema of their job when a run is submitted, formats as well as types."""

from datetime import date, datetime, time, timedelta
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import AnyUrl

from cronograph.jobs.core.arguments.judging import argument_faults, check_args, fits_plainly, value_faults
from cronograph.jobs.core.arguments.secrets import reference_faults, references, without_credentials, without_users
from cronograph.jobs.core.base.errors import InvalidInput
from cronograph.jobs.registry import define
from tests.support.processor import counting


def schema_of(kind: Any) -> dict[str, Any]:
    def handler(value: Any) -> None:
        """Takes one argument."""

    handler.__annotations__["value"] = kind
    return define("takes", handler).args_schema


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (datetime, "2030-01-31T09:00:00Z", "soon"),
        (date, "2030-01-31", "2030-01-32"),
        (time, "09:00:00", "25:00"),
        (timedelta, "PT90S", "90 seconds"),
        (UUID, "6fa459ea-ee8a-3ca4-894e-db77e160355e", "6fa459ea"),
        (AnyUrl, "https://example.org/x", "no address"),
        (IPv4Address, "192.0.2.1", "192.0.2.256"),
        (IPv6Address, "2001:db8::1", "2001:db8"),
    ],
)
def test_a_text_that_its_job_could_not_read_is_refused_when_the_run_is_submitted(
    kind: Any, good: str, bad: str
) -> None:
    schema = schema_of(kind)
    check_args("takes", schema, {"value": good})
    with pytest.raises(InvalidInput) as caught:
        check_args("takes", schema, {"value": bad})
    assert (caught.value.code, caught.value.path) == ("INVALID_ARGS", ("args", "value"))
    assert f"argument 'value' of job 'takes': '{bad}' is not a" in caught.value.message


def test_the_format_of_an_optional_argument_is_judged_too() -> None:
    schema = schema_of(datetime | None)
    check_args("takes", schema, {"value": None})
    with pytest.raises(InvalidInput):
        check_args("takes", schema, {"value": "soon"})


PRICE = {"type": "object", "properties": {"cents": {"type": "integer"}}, "required": ["cents"]}
RULES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "title": "N", "default": 3},
        {"type": "number"},
        {"type": "boolean"},
        {"type": ["string", "null"]},
        {"type": "null"},
        {"type": "string", "maxLength": 1},
        {"type": "integer", "minimum": 1},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"type": "array", "items": {"type": "string"}, "title": "L"},
        {"type": "array", "items": {"type": "number"}},
        {"type": "array", "items": {"type": "string", "maxLength": 1}},
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        {"type": "array", "items": {"type": ["integer", "null"]}},
        {"type": "array", "items": False},
        {"type": "array"},
        {"type": "array", "items": {}},
        {"type": "array", "items": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}},
        {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}},
        {"type": "object", "additionalProperties": False},
        {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}], "default": None},
        {"anyOf": [{"type": "integer"}, {"type": "string"}], "type": "string"},
        {"anyOf": [{"type": "integer"}, {"type": "string"}], "minimum": 1},
        {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "array", "items": {"type": "string"}}]},
        {"type": "array", "items": PRICE},
        {},
    ]
)
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        "",
        "ab",
        0,
        1,
        -1,
        1.0,
        0.5,
        True,
        False,
        None,
        [],
        {},
        {"$secret": "s"},
        ["ab"],
        [1, 1],
        [True, 0.5],
        [[]],
        [[1, "ab"], [None]],
        [None],
        {"a": [1]},
        {"a": [1, None], "b": []},
        [{"cents": 1}, {"cents": "x"}, {}, {"$secret": "s"}],
        [1, "x", 2, None, [3]],
    ]
)
NAMES = st.sampled_from("abc")
SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(NAMES, RULES)},
    optional={
        "required": st.lists(NAMES, unique=True),
        "additionalProperties": st.booleans(),
        "minProperties": st.just(1),
        "title": st.just("T"),
    },
)


@given(SCHEMAS, st.dictionaries(NAMES, VALUES))
def test_what_is_let_pass_without_the_library_has_no_faults_by_the_library(
    schema: dict[str, Any], args: dict[str, Any]
) -> None:
    if fits_plainly(schema, args):
        validator: Any = Draft202012Validator(schema)
        assert validator.is_valid(args)


@given(SCHEMAS, st.dictionaries(NAMES, VALUES))
def test_faults_are_those_of_the_library(schema: dict[str, Any], args: dict[str, Any]) -> None:
    validator: Any = Draft202012Validator(schema)
    expected = sorted(["args", *map(str, one.absolute_path)] for one in validator.iter_errors(args))
    assert references(args) or sorted(list(one.path) for one in argument_faults("takes", schema, args)) == expected


def test_texts_and_numbers_need_no_library() -> None:
    def handler(text: str, count: int, share: float = 0.5, *, sure: bool = False) -> None:
        """Takes plain values."""

    schema = define("takes", handler).args_schema
    assert fits_plainly(schema, {"text": "x", "count": 1, "share": 1, "sure": True})
    assert not fits_plainly(schema, {"text": "x"})
    assert not fits_plainly(schema, {"text": "x", "count": True})


def test_lists_of_texts_and_numbers_need_no_library() -> None:
    def handler(texts: list[str], numbers: list[float] | None = None) -> None:
        """Takes lists."""

    schema = define("takes", handler).args_schema
    assert fits_plainly(schema, {"texts": ["x", "y"]})
    assert fits_plainly(schema, {"texts": []})
    assert not fits_plainly(schema, {"texts": ["x", 1]})
    assert not fits_plainly(schema, {"texts": [{"$secret": "s"}]})


def test_choices_objects_and_lists_in_lists_need_no_library() -> None:
    def handler(
        rows: list[list[int | str]] | None = None,
        counts: dict[str, list[int]] | None = None,
        free: list[Any] | None = None,
    ) -> None:
        """Takes nested values."""

    schema = define("takes", handler).args_schema
    assert fits_plainly(schema, {"rows": [[1, "x"], []], "counts": {"a": [1]}, "free": [1, "x", None]})
    assert fits_plainly(schema, {"rows": None})
    assert not fits_plainly(schema, {"rows": [[1, None]]})
    assert not fits_plainly(schema, {"counts": {"a": ["x"]}})
    # They may refer to secrets, well or badly.
    assert not fits_plainly(schema, {"counts": {"$secret": [1]}})
    assert not fits_plainly(schema, {"free": [{"$secret": "s"}]})


def test_only_items_that_may_be_wrong_are_judged_by_the_library() -> None:
    def handler(numbers: list[int], texts: list[str] | None = None, rows: list[list[int]] | None = None) -> None:
        """Takes lists."""

    schema = define("takes", handler).args_schema
    schema["properties"]["prices"] = {"type": "array", "items": PRICE}
    few: dict[str, Any] = {"numbers": ["x"], "texts": [1], "rows": [[0, "x"]], "prices": [{"cents": "x"}]}
    assert len(argument_faults("takes", schema, few)) == 4
    many: dict[str, Any] = {
        "numbers": [*[1] * 20_000, "x", 2, 0.5],
        "texts": ["x"] * 20_000,
        "rows": [*[[1, 2]] * 2_000, [1, "x"]],
        "prices": [*[{"cents": 1}] * 2_000, {"cents": "x"}, {}],
    }
    with counting() as calls:
        faults = argument_faults("takes", schema, many)
    assert [".".join(one.path) for one in faults] == [
        "args.numbers.20000",
        "args.numbers.20002",
        "args.prices.2000.cents",
        "args.prices.2001",
        "args.rows",
    ]
    assert calls() < 150_000


def test_a_list_of_faults_is_bounded() -> None:
    def handler(numbers: list[int]) -> None:
        """Takes numbers."""

    faults = argument_faults("takes", define("takes", handler).args_schema, {"numbers": ["x"] * 1_000})
    assert [one.path for one in faults] == sorted(("args", "numbers", str(place)) for place in range(100))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://ada:hunter2@example.com/x", "http://***@example.com/x"),
        ("see 'https://token@example.com' now", "see 'https://***@example.com' now"),
        ("postgresql://u:hunter@2/sec:ret@h:1/x", "postgresql://***@h:1/x"),
        ("https://h/x?token=hunter2&a=b#top", "https://h/x?token=***&a=***#top"),
        ("//ada:hunter2@h and 3 // 4", "//ada:hunter2@h and 3 // 4"),
        ("mail ada@example.com", "mail ada@example.com"),
    ],
)
def test_secrets_of_addresses_are_masked(text: str, shown: str) -> None:
    assert without_credentials(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot reach postgresql://u:pw@h/db", "cannot reach postgresql://***@h/db"),
        ("redis://:pw@h:6379/0", "redis://***@h:6379/0"),
        ("redis://:1/pw@h", "redis://***@h"),
        ("amqp://a:5672,amqp://u:p@b", "amqp://a:5672,amqp://***@b"),
        ("postgresql://u:p@ss/word@h", "postgresql://***@h"),
        ("{'url': 'http://u:p@h/x?page=2', 'to': 'a@b'}", "{'url': 'http://***@h/x?page=2', 'to': 'a@b'}"),
        ("http://h:8080/x@y http://h/@me?to=a@b http://[::1]:80/@x", None),
        ("://a:b" * 50_000, None),
    ],
)
def test_users_of_addresses_are_masked_and_nothing_else(text: str, shown: str | None) -> None:
    assert without_users(text) == (shown or text)


ADDRESS = {"type": "string", "pattern": "^https?://[^@]+$", "maxLength": 40}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (ADDRESS, "http://ada:hunter2@example.com"),
        (ADDRESS, f"http://example.com/{'x' * 40}?key=hunter2"),
        ({"enum": ["a"]}, "http://ada:hunter2@example.com"),
    ],
)
def test_no_fault_shows_the_password_of_an_address(schema: dict[str, Any], value: Any) -> None:
    of_job = {"type": "object", "properties": {"url": schema}}
    for fault in [*argument_faults("call", of_job, {"url": value}), *value_faults("it", schema, value, "url")]:
        assert "hunter2" not in fault.message
        assert "http://" in fault.message


def test_plain_values_take_no_step_each_to_find_secrets_among_them() -> None:
    many = {"rows": ["x", 1, 0.5, True, None] * 10_000, **{f"n{number}": number for number in range(10_000)}}
    args = {"many": many, "one": [{"$secret": "token"}]}
    with counting() as calls:
        assert references(args) == {"token"}
        assert list(reference_faults(args)) == []
    assert calls() < 1_000


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"type": "integer"}, ["hunter2"], "the list is not of type 'integer'"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"Authorization": "Bearer hunter2"}, "the object is not"),
        ({"type": "array", "maxItems": 1}, ["hunter2", "b"], "the list is too long"),
        ({"type": "string", "maxLength": 3, "writeOnly": True}, "hunter2", "the value is too long"),
        ({"enum": ["a"], "writeOnly": True}, "hunter2", "the value is not one of ['a']"),
        ({"anyOf": [{"type": "string", "writeOnly": True}, {"type": "null"}]}, 4711, "the value is not valid"),
        ({"type": "array"}, {}, "{} is not of type 'array'"),
    ],
)
def test_no_fault_shows_a_secret_or_what_is_in_lists_and_objects(schema: dict[str, Any], value: Any, said: str) -> None:
    of_job = {"type": "object", "properties": {"it": schema}}
    for fault in [*argument_faults("call", of_job, {"it": value}), *value_faults("it", schema, value, "it")]:
        assert "hunter2" not in fault.message
        assert "4711" not in fault.message
        assert said in fault.message
