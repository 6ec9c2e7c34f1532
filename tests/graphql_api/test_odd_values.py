"""Each argument of each root field with values that nobody means: a refusal with a code, and never a fault of ours."""

import json
from typing import Any

import pytest

from cronograph.graphql.base.errors import error_answer
from cronograph.graphql.guard.document import RequestRefused
from cronograph.graphql.transport.engine import Engine
from cronograph.graphql.transport.request import GraphQLRequest
from cronograph.jobs.store.schema import tables
from tests.graphql_api.api import Api
from tests.graphql_api.odd_values import calls

LONG = "x" * 100_000
TEXTS = {
    "long": LONG,
    "NUL": "a\0b",
    "half a surrogate pair": "a\ud800",
    "empty": "",
    "control": "a\x07b",
    "blank": "  ",
}
MOST_AUDITED = 25_000
"""Characters of one entry of the audit log, which is kept for a year."""
LONGEST_MESSAGE = 1_500


async def judged(api: Api, operation: str, odd: dict[str, list[Any]]) -> None:
    """Make all calls; none may be answered with a fault of ours, without a code, or in a long message."""
    engine = Engine(api.schema)
    faults: list[str] = []
    for call in calls(api.schema.documents.schema, operation, odd):
        try:
            prepared = engine.prepare(GraphQLRequest(call.document, dict(call.variables), None))
            answer = await engine.execute(prepared, api.context())
        except RequestRefused as refused:
            answer = error_answer(refused.errors)
        errors = [(error.get("extensions", {}).get("code"), error["message"]) for error in answer.get("errors", ())]
        for payload in (answer.get("data") or {}).values():
            refusals = payload.get("errors") if isinstance(payload, dict) else None
            errors += [(error["code"], error["message"]) for error in refusals or () if "code" in error]
        bad = (one for one in errors if one[0] in (None, "INTERNAL_ERROR") or len(one[1]) > LONGEST_MESSAGE)
        faults += [f"{call.where}: {code} {message[:100]} ({len(message)})" for code, message in bad]
    assert faults == [], "\n".join(faults)


@pytest.mark.costly
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
async def test_a_text_in_each_argument_of_each_mutation(api: Api, text: str) -> None:
    await judged(api, "mutation", {"String": [text], "ID": [text], "JSON": [text, {text: text}, [text]]})
    for row in api.stored.rows(tables.audit_log):
        assert len(json.dumps([row.action, row.subject, row.before, row.after])) < MOST_AUDITED, row.action


@pytest.mark.costly
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
async def test_a_text_in_each_argument_of_each_query(api: Api, text: str) -> None:
    await judged(api, "query", {"String": [text], "ID": [text], "JSON": [text, {text: text}]})


ODD: dict[str, list[Any]] = {
    "Int": [-1, 0, 2**31 - 1, None],
    "Float": [-1.0, 0.0, 1e300, 5e-324, None],
    "BigInt": [-(2**63), 2**63 - 1, None],
    "Duration": [-1.0, 0.0, 1e300, 5e-324, None],
    "Labels": [None, 5, [], {"a": None}, {"a": 1}, {"": ""}],
    "Boolean": [None],
    "DateTime": ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z", None],
    "ID": [None, "0", "9223372036854775807"],
    "String": [None, "é" * 200, "\u202e", "a/b", "%", "'", "P1Y", "${x}"],
    "JSON": [None, 5, [], [[]], {"a": None}, {"$secret": 5}, {"a": 1e308}, {"": ""}],
    "enum": [None],
}


@pytest.mark.costly
@pytest.mark.parametrize("operation", ["query", "mutation"])
@pytest.mark.parametrize("kind", ODD)
async def test_a_value_at_the_edge_in_each_argument(api: Api, operation: str, kind: str) -> None:
    await judged(api, operation, {kind: ODD[kind]})
