"""Errors: what is public, what is masked, and what the log keeps."""

import logging

import pytest

from cronograph.graphql.base.errors import (
    CLASSIFIED,
    RETRY_AFTER,
    Classification,
    InternalError,
    UserFacingError,
    classify,
    is_public,
    mask_all,
    shorten,
)
from cronograph.graphql.client.base.errors import PASSING
from graphql import GraphQLError
from tests.graphql_api.transport.sample import SampleContext, sample_schema
from tests.graphql_api.transport.serving import Served


async def test_an_unexpected_error_is_masked_and_logged_whole_under_its_id(
    server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await server.query("query Explode { boom }")
    (error,) = answer["errors"]
    error_id = error["extensions"]["id"]
    assert error["message"] == f"Internal error, id {error_id}"
    assert error["path"] == ["boom"]
    assert answer["data"] == {"boom": None}
    (record,) = [one for one in caplog.records if one.name == "cronograph.graphql" and one.levelno >= logging.INFO]
    assert f"id {error_id}, operation Explode, path boom" in record.getMessage()
    assert record.exc_info is not None
    text = logging.Formatter().format(record)
    assert "ValueError: the password is hunter2" in text
    assert "Traceback" in text


async def test_a_deliberate_error_passes_with_its_code_and_leaves_no_trace(
    server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await server.query("{ refused }")
    assert answer["errors"][0]["message"] == "Only operators may do this."
    assert answer["errors"][0]["extensions"] == {"code": "FORBIDDEN", "classification": "FORBIDDEN"}
    assert not [one for one in caplog.records if one.name == "cronograph.graphql"]


@pytest.mark.parametrize(
    ("query", "code", "classification"),
    [
        ("{ boom }", "INTERNAL_ERROR", "INTERNAL_SERVER_ERROR"),
        ('{ tasks(after: "tampered") { totalCount } }', "INVALID_CURSOR", "BAD_REQUEST"),
        ("{ hello", "SYNTAX_ERROR", "BAD_REQUEST"),
        ("{ nothing }", "VALIDATION_ERROR", "BAD_REQUEST"),
        ("query ($first: Int!) { tasks(first: $first) { totalCount } }", "INVALID_VARIABLES", "BAD_REQUEST"),
        ("{ tasks { nodes " + "{ a " * 60 + "}" * 62, "LIMIT_DEPTH", "BAD_REQUEST"),
    ],
)
async def test_every_error_says_whose_matter_it_is(server: Served, query: str, code: str, classification: str) -> None:
    (error,) = (await server.query(query))["errors"]
    assert (error["extensions"]["code"], error["extensions"]["classification"]) == (code, classification)


def test_what_clients_try_again_is_not_the_requests_matter() -> None:
    assert {Classification.UNAVAILABLE, Classification.INTERNAL_SERVER_ERROR} == PASSING
    passing = ("INTERNAL_ERROR", "TIMEOUT", "SHUTTING_DOWN", "LIMIT_OPEN_STREAMS", "LIMIT_QUEUE_SECONDS")
    assert {classify(code) for code in passing} == PASSING


async def test_a_tampered_cursor_is_the_resolvers_own_refusal(server: Served) -> None:
    answer = await server.query('{ tasks(after: "tampered") { totalCount } }')
    assert answer["errors"][0]["extensions"]["code"] == "INVALID_CURSOR"


async def test_a_context_that_fails_is_masked_with_status_500(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    response = await server.post({"query": "{ hello }"}, authorization="crash")
    assert response.status_code == 500
    assert response.json()["errors"][0]["message"].startswith("Internal error, id ")
    assert "hunter2" not in response.text
    assert "hunter2" in caplog.text


def test_one_fault_in_many_fields_is_logged_once_under_one_id(caplog: pytest.LogCaptureFixture) -> None:
    fault = LookupError("lost")
    errors = [GraphQLError("lost", path=["rows", row], original_error=fault) for row in range(100)]
    masked = mask_all(errors, "Rows")
    assert len({error.message for error in masked}) == 1
    assert [error.path for error in masked] == [["rows", row] for row in range(100)]
    assert len(caplog.records) == 1
    assert mask_all(masked) == masked
    assert len(caplog.records) == 1, "what is masked already is not logged again"


def test_public_errors_are_those_without_a_fault_behind_them() -> None:
    deliberate = UserFacingError("no", code="NO")
    assert is_public(deliberate)
    assert is_public(GraphQLError("no", path=["a"], original_error=deliberate))
    assert is_public(GraphQLError("syntax"))
    assert not is_public(GraphQLError("x", path=["a"], original_error=KeyError("x")))
    assert not is_public(GraphQLError("x", original_error=KeyError("x")))
    assert not is_public(GraphQLError("x", original_error=GraphQLError("y", original_error=KeyError("x"))))


def test_exceptions_that_are_no_graphql_errors_are_masked(caplog: pytest.LogCaptureFixture) -> None:
    (masked,) = mask_all([KeyError("secret")])
    assert isinstance(masked, InternalError)
    assert "secret" not in masked.message
    assert "secret" in caplog.text


def test_long_messages_are_cut_and_say_so() -> None:
    assert shorten(GraphQLError("x" * 5_000), 10).message == "xxxxxxxxxx… (5,000 characters)"
    assert shorten(GraphQLError("short"), 10).message == "short"


async def test_the_schema_guards_executions_that_come_past_the_transports() -> None:
    schema = sample_schema()
    result = await schema.execute(
        "{ " + " ".join(f"a{n}: hello" for n in range(51)) + " }", context_value=SampleContext()
    )
    assert result.errors is not None
    assert (result.errors[0].extensions or {})["code"] == "LIMIT_ROOT_FIELDS"
    assert (await schema.execute("{ hello }")).data == {"hello": "Hello world"}
    assert schema.execute_sync("{ hello }").data == {"hello": "Hello world"}


def test_every_refusal_that_passes_by_itself_says_when_to_try_again() -> None:
    passing = {code for code, whose in CLASSIFIED.items() if whose is Classification.UNAVAILABLE}
    assert passing == set(RETRY_AFTER)
    for code in passing:
        assert UserFacingError("Not now.", code=code).extensions == {
            "code": code,
            "classification": "UNAVAILABLE",
            "retryAfter": RETRY_AFTER[code],
        }
    own = UserFacingError("Later.", code="BUSY", extensions={"retryAfter": 9}).extensions
    assert own is not None
    assert own["retryAfter"] == 9
    assert "retryAfter" not in (UserFacingError("No.", code="INVALID_INPUT").extensions or {})
