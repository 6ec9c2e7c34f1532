"""Writes `docs/codes.md`: every word that programs test, with what it means.

`make schema` writes it. The codes of refusals and of explanations are those of the schema; those of whole requests are
listed here, and a test compares them with the sources.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Final

from cronograph.graphql.base.errors import classify
from cronograph.graphql.base.raised import RAISED
from graphql import GraphQLEnumType, GraphQLSchema, build_schema
from tests.support.sources import ROOT

SDL: Final = ROOT / "graphql" / "schema.graphql"

HEAD: Final = """# Codes

Made by `make schema`; do not edit it. Words that programs can rely on: they are renamed only with an entry in
the [changelog](../CHANGELOG.md), and new ones may come.
"""

REQUESTS: Final = {
    "BATCH_UNSUPPORTED": "The body is a list of operations; send one at a time.",
    "BUSY": "Too many sign-ins are being judged at once; try again in a moment.",
    "CROSS_SITE": "The request comes from another site.",
    "DOCUMENT_NOT_ALLOWED": "The server runs trusted documents only, and this is not one of them.",
    "FORBIDDEN": "Who asks lacks the role that a field needs; `field`, `requiredRole` and `role` say which.",
    "HOST_NOT_ALLOWED": "The server is not asked by a name that it has.",
    "INTERNAL_ERROR": "A fault of this server; `id` finds it in the log.",
    "INVALID_CHARACTER": "A text has half a surrogate pair, which is no character.",
    "INVALID_CURSOR": "A cursor is none, or belongs to another list or another order.",
    "INVALID_INPUT": "An argument is not what it must be.",
    "INVALID_JSON": "The body is no JSON; the message says where the fault is.",
    "INVALID_LAST_EVENT_ID": "The header Last-Event-ID is no id of an event of this stream.",
    "INVALID_LINK": "The link is spent, too old or none.",
    "INVALID_PASSKEY": "What the device answered is not what was asked of it, or not in time.",
    "INVALID_REQUEST": "The body is not what it must be.",
    "INVALID_UTF8": "The body is no UTF-8.",
    "INVALID_VARIABLES": "The variables do not fit the document.",
    "METHOD_NOT_ALLOWED": "Queries are sent by POST.",
    "MISSING_QUERY": "There is no document, and no hash of one.",
    "NOT_ACCEPTABLE": "The client accepts no form in which this can be answered.",
    "NOT_FOUND": "There is no such thing (any more).",
    "NO_ROLE": "The provider gives the person no role here.",
    "PASSKEYS_NOT_AVAILABLE": "Passkeys need a name that browsers trust, such as `localhost` or a public URL.",
    "PERSISTED_HASH_MISMATCH": "The hash is not that of the document.",
    "PERSISTED_QUERY_NOT_FOUND": "The hash is not known; send the document along.",
    "PROVIDER_ANSWER": "The answer of a provider of identities is not good in some point; the server's log says which.",
    "PROVIDER_NOT_AVAILABLE": "A provider of identities cannot be reached, or is not what it should be.",
    "PROVIDER_REFUSED": "A provider of identities, or the person there, says no.",
    "SHUTTING_DOWN": "The server ends; connect again.",
    "SLOW_READER": "The reader of a stream was too slow, and the stream ended.",
    "STARTING": "The server is not ready yet.",
    "SUBSCRIPTION_NEEDS_STREAM": "A subscription needs a WebSocket or an event stream.",
    "SUBSCRIPTION_REFUSED": "`graphql_request` runs queries and mutations only.",
    "SYNTAX_ERROR": "The document is no GraphQL.",
    "TIMEOUT": "The operation took too long.",
    "TOO_MANY_ATTEMPTS": "Too many failed sign-ins; `retryAfter` says when to try again, in seconds.",
    "UNAUTHENTICATED": "It is not known who asks: no credential, or one that has ended.",
    "UNAVAILABLE": "The database does not answer at the moment; try again in a moment.",
    "UNKNOWN_OPERATION": "The document has no operation of this name, or several and no name was given.",
    "UNSUPPORTED_ENCODING": "The body is compressed.",
    "UNSUPPORTED_MEDIA_TYPE": "The body is not JSON.",
    "VALIDATION_ERROR": "The document does not fit the schema.",
    "WRONG_CREDENTIALS": "The name or the password is wrong.",
    "WRONG_STATE": "The sign-in by a provider was not begun in this browser, took too long, or is over.",
}
"""What `extensions.code` of an error of a whole request, or of one of its fields, can be besides the limits."""

LIMITS: Final = (
    "ALIASES", "ANSWER_BYTES", "BODY_BYTES", "BODY_SECONDS", "CLIENT_STREAMS", "COST", "DEPTH", "DOCUMENT_BYTES",
    "FIELDS", "INTROSPECTION_COST", "INTROSPECTION_DEPTH", "INTROSPECTION_LISTS", "JSON_DEPTH", "MUTATION_ROOT_FIELDS",
    "NESTING", "NUMBER_DIGITS", "OPEN_STREAMS", "OPERATIONS_PER_SOCKET", "QUEUED_DOCUMENTS", "QUEUED_OPERATIONS",
    "QUEUE_SECONDS", "ROOT_FIELDS", "SEARCH_BUDGET", "SEARCH_SECONDS", "SORTED_ROWS", "TOKENS", "UNREADY_SOCKETS",
    "VALIDATION", "WIDE_BODIES",
)  # fmt: skip
"""The limits that refuse something, as their codes name them; other fields of `Limits` cut, wait or remember."""


def limit_codes() -> list[str]:
    """The codes of passed limits."""
    return [f"LIMIT_{name}" for name in LIMITS]


def catalogue(sdl: str) -> str:
    """The whole page as Markdown."""
    return "\n".join(_page(build_schema(sdl))).rstrip() + "\n"


def _page(schema: GraphQLSchema) -> Iterator[str]:
    yield HEAD
    yield "## Refusals: `errors { code }` of a mutation, `validateSchedule { error { code } }`\n"
    yield from _table(("code", "meaning"), _values(schema, "ErrorCode"))
    yield "## Refusals of each mutation\n"
    yield "Every mutation can also answer the errors of requests below.\n"
    codes_of = ((f"`{name}`", ", ".join(f"`{code}`" for code in codes)) for name, codes in sorted(RAISED.items()))
    yield from _table(("mutation", "codes"), codes_of)
    yield "## Errors of requests: `errors[].extensions.code`\n"
    rows = ((f"`{code}`", meaning, f"`{classify(code)}`") for code, meaning in sorted(REQUESTS.items()))
    yield from _table(("code", "meaning", "`extensions.classification`"), rows)
    yield "A passed limit is `LIMIT_` and its name; the message says how much it is and what was asked for:"
    yield f"{', '.join(f'`{code}`' for code in limit_codes())}.\n"
    yield "## Explanations: `explain { code }` of a task or a run\n"
    yield from _table(("code", "meaning"), _values(schema, "ExplanationCode"))


def _values(schema: GraphQLSchema, name: str) -> Iterator[tuple[str, str]]:
    kind = schema.type_map[name]
    assert isinstance(kind, GraphQLEnumType), name
    for value, one in kind.values.items():
        yield f"`{value}`", one.description or ""


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(catalogue(SDL.read_text(encoding="utf-8")))
