"""Each argument of each root field with values that nobody means: a refusal with a code, and never a fault of ours."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

import pytest
from sqlalchemy import Connection, Engine, event

from cronograph.graphql.base.errors import error_answer
from cronograph.graphql.guard.document import RequestRefused
from cronograph.graphql.transport import engine
from cronograph.graphql.transport.request import GraphQLRequest
from cronograph.jobs.store.schema import tables
from tests.graphql_api.api import Api
from tests.graphql_api.odd_values import ABSENT, Call, calls
from tests.graphql_api.world import World, variables_of

TEXTS = {
    "long": "x" * 100_000,
    "NUL": "a\0b",
    "half a surrogate pair": "a\ud800",
    "empty": "",
    "control": "a\x07b",
    "blank": "  ",
}
ODD: dict[str, list[Any]] = {
    "Int": [-1, 0, 2**31 - 1],
    "Float": [-1.0, 0.0, 1e300, 5e-324],
    "Duration": [-1.0, 0.0, 1e300, 5e-324],
    "Labels": [5, [], {"a": None}, {"a": 1}, {"": ""}],
    "BigInt": [-(2**63), 2**63 - 1],
    "DateTime": ["1970-01-01T00:00:00Z", "9998-12-31T23:59:59Z", "1969-12-31T23:59:59Z"],
    "ID": ["0", "9223372036854775807", "9223372036854775808"],
    "String": ["é" * 200, "\u202e", "a/b", "%", "'", "P1Y", "${x}"],
    "JSON": [5, [], [[]], {"a": None}, {"$secret": 5}, {"a": 1e308}, {"": ""}],
    "list": [[]],
    "object": [{}],
}
"""Values at the edges, by the kind of an argument."""
WRONG: dict[str, list[Any]] = {
    "Int": ["1", 1.5, True, 2**31],
    "Float": ["1", True],
    "Duration": ["1", True],
    "Labels": ["x", 5],
    "BigInt": ["x", 1.5, 2**63],
    "Boolean": [1, "true"],
    "DateTime": ["yesterday", 5, "2026-02-30T00:00:00Z"],
    "ID": [1.5, True, {}],
    "String": [1, True, {}],
    "enum": ["NOTHING", 1, True],
    "list": [5, {"a": 1}, [None], [[]]],
    "object": ["x", 5, [], {"nothing": 1}],
}
"""Values of another type."""
NONE: Final = {kind: [None, ABSENT] for kind in {*ODD, *WRONG, "enum", "Boolean"}}
PARTS = 6
"""In so many tests the calls of one kind are made: each kind has some thousand."""
MOST_AUDITED = 25_000
"""Characters of one entry of the audit log, which is kept for a year."""
LONGEST_MESSAGE = 1_500
WRITES: Final = re.compile(r"\b(INSERT INTO|DELETE FROM|UPDATE (?!SKIP|OF|NOWAIT)\w)")


@contextmanager
def kept_writes() -> Generator[list[str]]:
    """Note the statements that change something and are committed within the block."""
    kept: list[str] = []
    written = defaultdict[Connection, list[str]](list)

    def note(conn: Connection, _cursor: object, statement: str, *_rest: object) -> None:
        # Events are numbered in the background.
        if WRITES.search(statement) and not statement.startswith("UPDATE cronograph.event"):
            written[conn].append(statement)

    def keep(conn: Connection) -> None:
        kept.extend(written.pop(conn, []))

    def forget(conn: Connection) -> None:
        written.pop(conn, None)

    listeners: list[tuple[str, Callable[..., None]]] = [
        ("before_cursor_execute", note),
        ("commit", keep),
        ("rollback", forget),
    ]
    for name, listener in listeners:
        event.listen(Engine, name, listener)
    try:
        yield kept
    finally:
        for name, listener in listeners:
            event.remove(Engine, name, listener)


async def answer_of(world: World, asking: engine.Engine, call: Call) -> dict[str, Any]:
    """Return the answer to a call."""
    try:
        prepared = asking.prepare(GraphQLRequest(call.document, dict(call.variables), None))
        return dict(await asking.execute(prepared, world.context()))
    except RequestRefused as refused:
        return error_answer(refused.errors)


def refusals_in(answer: Mapping[str, Any]) -> list[tuple[str | None, str]]:
    """Return codes and messages of all errors of an answer, those of payloads included."""
    found = [(error.get("extensions", {}).get("code"), error["message"]) for error in answer.get("errors", ())]
    for payload in (answer.get("data") or {}).values():
        refused = payload.get("errors") if isinstance(payload, dict) else None
        found += [(error["code"], error["message"]) for error in refused or ()]
    return found


async def judged(api: Api, operation: str, odd: Mapping[str, list[Any]], part: int) -> None:
    """Make the calls of one part.

    None may be answered with a fault of ours, without a code or in a long message; what is refused writes nothing.
    """
    world = await World.of(api)
    known = {name: variables_of(name, one.input) for name, one in world.requests().items()}
    asking, faults = engine.Engine(api.schema), list[str]()
    with kept_writes() as kept:
        every = calls(api.schema.documents.schema, operation, odd, known if operation == "mutation" else {})
        for call in islice(every, part, None, PARTS):
            kept.clear()
            errors = refusals_in(await answer_of(world, asking, call))
            bad = (one for one in errors if one[0] in (None, "INTERNAL_ERROR") or len(one[1]) > LONGEST_MESSAGE)
            faults += [f"{call.where}: {code} {message[:100]} ({len(message)})" for code, message in bad]
            if errors and kept:
                faults.append(f"{call.where}: {errors[0]} and yet {kept[0][:100]}")
    assert faults == [], "\n".join(faults)
    for row in api.stored.rows(tables.audit_log):
        assert len(json.dumps([row.action, row.subject, row.before, row.after])) < MOST_AUDITED, row.action


@pytest.mark.costly
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("operation", ["query", "mutation"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
async def test_a_text_in_each_argument(api: Api, operation: str, text: str, part: int) -> None:
    await judged(api, operation, {"String": [text], "ID": [text], "JSON": [text, {text: text}, [text]]}, part)


@pytest.mark.costly
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("operation", ["query", "mutation"])
@pytest.mark.parametrize("odd", [ODD, WRONG, NONE], ids=["at the edges", "of another type", "null or absent"])
async def test_a_value_that_nobody_means_in_each_argument(
    api: Api, operation: str, odd: Mapping[str, list[Any]], part: int
) -> None:
    await judged(api, operation, odd, part)


async def test_a_refusal_that_keeps_what_it_wrote_would_be_seen(api: Api) -> None:
    with kept_writes() as kept:
        api.stored.do(lambda tx: tx.conn.execute(tables.saved_view.delete()))
        assert [statement.split()[0] for statement in kept] == ["DELETE"]
        kept.clear()
        with pytest.raises(RuntimeError):
            api.stored.do(_failing)
        assert kept == []


def _failing(tx: Any) -> None:
    tx.conn.execute(tables.saved_view.delete())
    raise RuntimeError
