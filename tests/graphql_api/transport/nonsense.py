"""Nonsense that reaches a public endpoint, each with the refusal it must get; for the tests and the benchmark."""

import json
from dataclasses import dataclass

from graphql import get_introspection_query


@dataclass(frozen=True)
class Nonsense:
    """One request body and what must come back.

    Attributes:
        name: what it is.
        body: the raw body.
        code: `extensions.code` of the first error.
        says: text the message must hold: the limit that was passed, or what is wrong.
        status: the HTTP status for `Accept: application/json`.
    """

    name: str
    body: bytes
    code: str
    says: str
    status: int = 200


def doubling(count: int) -> str:
    """A document whose fragments spread the next one twice: 2^count fields from a few hundred bytes."""
    fragments = [f"fragment f{number} on Task {{ ...f{number + 1} ...f{number + 1} }}" for number in range(count)]
    return f"{{ task {{ ...f0 }} }} {' '.join(fragments)} fragment f{count} on Task {{ name }}"


def document(text: str, variables: object = None, name: object = None) -> bytes:
    """The body that sends a document."""
    return json.dumps({"query": text, "variables": variables, "operationName": name}).encode()


def _of(name: str, text: str, code: str, says: str, status: int = 200) -> Nonsense:
    return Nonsense(name, document(text), code, says, status)


def _body(name: str, body: bytes, code: str, says: str, status: int = 400) -> Nonsense:
    return Nonsense(name, body, code, says, status)


def _value(name: str, value: bytes, code: str, says: str) -> Nonsense:
    return _body(name, b'{"query": "{ hello }", "variables": {"v": ' + value + b"}}", code, says)


NUMBER = "query N($value: Int!) { number(value: $value) }"
ALIASED = " ".join(f"a{number}: name" for number in range(51))
NESTED = "{ task { " + "parent { " * 12 + "name" + " }" * 14
DEEP_INTROSPECTION = "{ __schema { types { " + "fields { type { " * 3 + "name" + " } }" * 3 + " } } }"
REPEATED_INTROSPECTION = (
    get_introspection_query().replace("__schema {", "a: __schema { ...S } b: __schema { ...S } c: __schema {", 1)
    + " fragment S on __Schema { types { ...FullType } }"
)
DOCUMENTS = [
    _of("20 doubling fragments", doubling(20), "LIMIT_FIELDS", "the limit is 1,500, got 1,048,577"),
    _of("30 doubling fragments", doubling(30), "LIMIT_FIELDS", "the limit is 1,500, got at least 1,000,000,000"),
    _of("140 doubling fragments", doubling(140), "LIMIT_NESTING", "the limit is 64"),
    _of("51 aliases", f"{{ task {{ {ALIASED} }} }}", "LIMIT_ALIASES", "the limit is 50, got 51"),
    _of("51 root fields", f"{{ {ALIASED} }}", "LIMIT_ROOT_FIELDS", "the limit is 20, got 51"),
    _of(
        "11 mutations",
        "mutation { " + " ".join(f"m{n}: bump" for n in range(11)) + " }",
        "LIMIT_MUTATION_ROOT_FIELDS",
        "the limit is 10, got 11",
    ),
    _of("depth 14", NESTED, "LIMIT_DEPTH", "the limit is 12, got 14"),
    _of("depth 100", "{ task { " + "parent { " * 98 + "name" + " }" * 100, "LIMIT_NESTING", "the limit is 64, got 100"),
    _of("20,000 open braces", "{" * 20_000, "LIMIT_NESTING", "the limit is 64, got 20,000"),
    _of("20,000 nested lists", "{ hello(name: " + "[" * 20_000 + "]" * 20_000 + ") }", "LIMIT_NESTING", "got 20,002"),
    _of("20,000 nested fields", "{a" * 20_000 + "}" * 20_000, "LIMIT_NESTING", "got 20,000"),
    _of(
        "a thousand repeated fields",
        "{ task { " + "name " * 1_000 + "} }",
        "LIMIT_VALIDATION",
        "it repeats fields or fragments too often",
    ),
    _of(
        "repeated fields of repeated fields",
        "{ task { " + ("parent { " + "parent { name } " * 10 + "} ") * 45 + "} }",
        "LIMIT_VALIDATION",
        "it repeats fields or fragments too often",
    ),
    _of("480 inline fragments", "{ task { " + "... { name } " * 480 + "} }", "LIMIT_VALIDATION", "too much work"),
    _of(
        "150 fragments with the same fields",
        "{ task { "
        + " ".join(f"...f{n}" for n in range(150))
        + " } } "
        + " ".join(f"fragment f{n} on Task {{ name name name }}" for n in range(150)),
        "LIMIT_VALIDATION",
        "too much work",
    ),
    _of(
        "180 operations",
        " ".join(f"query q{n} {{ task {{ ...f }} }}" for n in range(180)) + " fragment f on Task { name }",
        "UNKNOWN_OPERATION",
        "The document has 180 operations",
    ),
    _of(
        "a page of pages",
        "{ tasks(first: 200) { nodes { followers(first: 200) { nodes { name } } } } }",
        "LIMIT_COST",
        "the limit is 20,000, got 40,402",
    ),
    _of(
        "3,000 tokens",
        "{ task { " + " ".join(f"f{n}" for n in range(3_000)) + " } }",
        "LIMIT_TOKENS",
        "the limit is 2,000",
    ),
    _of("3,000 comments", "{ hello }" + "#\n" * 3_000, "LIMIT_TOKENS", "the limit is 2,000"),
    _of(
        "a document of 70,000 bytes",
        "{ hello }" + " " * 70_000,
        "LIMIT_DOCUMENT_BYTES",
        "the limit is 65,536, got 70,009",
    ),
    _of("a name of 60,000 characters", "{ " + "n" * 60_000 + " }", "VALIDATION_ERROR", "Cannot query field 'nnn"),
    _of(
        "a number of 5,000 digits",
        "{ number(value: " + "9" * 5_000 + ") }",
        "LIMIT_NUMBER_DIGITS",
        "the limit is 40, got 5,000",
    ),
    _of(
        "fields of fields of types", DEEP_INTROSPECTION, "LIMIT_INTROSPECTION_LISTS", "the limit of introspection is 3"
    ),
    _of(
        "three introspections",
        REPEATED_INTROSPECTION,
        "LIMIT_INTROSPECTION_COST",
        "introspection of this operation costs",
    ),
    _of(
        "a cycle of fragments",
        "{ task { ...a } } fragment a on Task { ...b } fragment b on Task { ...a }",
        "VALIDATION_ERROR",
        "Cannot spread fragment 'a' within itself",
    ),
    _of("an unknown field", "{ goodbye }", "VALIDATION_ERROR", "Cannot query field 'goodbye'"),
    _of("no GraphQL", "hello?", "SYNTAX_ERROR", "Syntax Error"),
    _of("a NUL", "{ hello\u0000 }", "SYNTAX_ERROR", "U+0000"),
    _of("a bell", "{ hello\u0007 }", "SYNTAX_ERROR", "U+0007"),
    _of("no operation", "fragment a on Task { name }", "UNKNOWN_OPERATION", "The document has no operation"),
    _of("two operations and no name", "query A { hello } query B { hello }", "UNKNOWN_OPERATION", "one of: A, B"),
    _of("2^31 in the document", "{ number(value: 2147483648) }", "VALIDATION_ERROR", "non 32-bit signed integer"),
    _of(
        "a subscription by POST",
        "subscription { ticks { value } }",
        "SUBSCRIPTION_NEEDS_STREAM",
        "text/event-stream",
        400,
    ),
]
REQUESTS = [
    Nonsense(
        "an unknown operation", document("query A { hello }", None, "B"), "UNKNOWN_OPERATION", "no operation named 'B'"
    ),
    Nonsense("a missing variable", document(NUMBER, {}), "INVALID_VARIABLES", "Variable '$value'"),
    Nonsense("a null variable", document(NUMBER, {"value": None}), "INVALID_VARIABLES", "Variable '$value'"),
    Nonsense(
        "2^31 as a variable", document(NUMBER, {"value": 2**31}), "INVALID_VARIABLES", "non 32-bit signed integer"
    ),
    Nonsense(
        "a page of pages by variable",
        document(
            "query P($n: Int) { tasks(first: $n) { nodes { followers(first: $n) { nodes { name } } } } }", {"n": 10**9}
        ),
        "LIMIT_COST",
        "the limit is 20,000, got 40,402",
    ),
    _body("null", b"null", "INVALID_REQUEST", "got null"),
    _body("a string", b'"x"', "INVALID_REQUEST", "got a string"),
    _body("a number", b"1", "INVALID_REQUEST", "got a number"),
    _body("an empty body", b"", "INVALID_JSON", "line 1, column 1"),
    _body("an empty object", b"{}", "MISSING_QUERY", "'query' must hold a GraphQL document"),
    _body("a batch", b'[{"query": "{ hello }"}]', "BATCH_UNSUPPORTED", "one operation per request"),
    _body("a large batch", b"[" + b"[]," * 170_000 + b"[]]", "BATCH_UNSUPPORTED", "one operation per request"),
    _body("JSON nested 5,000 deep", b"[" * 5_000 + b"]" * 5_000, "LIMIT_JSON_DEPTH", "the limit is 64, got 5,000"),
    _body("200,000 open brackets", b"[" * 200_000, "LIMIT_JSON_DEPTH", "the limit is 64, got 200,000"),
    _body("100,000 open objects", b'{"a":' * 100_000, "LIMIT_JSON_DEPTH", "the limit is 64, got 100,000"),
    _body("100,000 open strings", b'"\\' * 100_000, "INVALID_JSON", "is not valid JSON"),
    _value("variables nested 5,000 deep", b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "LIMIT_JSON_DEPTH", "got 5,002"),
    _value("an integer of 5,000 digits", b"9" * 5_000, "LIMIT_NUMBER_DIGITS", "the limit is 40, got 5,000"),
    _value("not a number", b"NaN", "INVALID_JSON", "NaN is no JSON value"),
    _value("minus infinity", b"-Infinity", "INVALID_JSON", "-Infinity is no JSON value"),
    _value("1e999", b"1e999", "INVALID_JSON", "too large"),
    _value("half a surrogate pair", b'"\\ud800"', "INVALID_CHARACTER", "U+D800"),
    _value("a raw control character", b'"\x01"', "INVALID_JSON", "Invalid control character"),
    _body("a byte that is not UTF-8", b'{"query": "{ hello }\xff"}', "INVALID_UTF8", "0xff"),
    _body("a byte order mark", b'\xef\xbb\xbf{"query": "{ hello }"}', "INVALID_JSON", "BOM"),
    _body("a duplicate key", b'{"query": "{ hello }", "query": "{ a }"}', "INVALID_JSON", "'query' occurs twice"),
    _body(
        "a query of the wrong type",
        b'{"query": 1}',
        "INVALID_REQUEST",
        "'query' must be a string or null, got a number",
    ),
    _body(
        "variables of the wrong type",
        b'{"query": "{ hello }", "variables": []}',
        "INVALID_REQUEST",
        "'variables' must be",
    ),
    _body(
        "an operationName of the wrong type",
        b'{"query": "{ hello }", "operationName": {}}',
        "INVALID_REQUEST",
        "'operationName' must be a string or null, got an object",
    ),
    _body(
        "extensions of the wrong type",
        b'{"query": "{ hello }", "extensions": 1}',
        "INVALID_REQUEST",
        "'extensions' must be",
    ),
    _body(
        "a hash that is none",
        b'{"extensions": {"persistedQuery": {"sha256Hash": "x"}}}',
        "INVALID_REQUEST",
        "64 hexadecimal",
    ),
    _body(
        "a body of 600,000 bytes", b" " * 600_000, "LIMIT_BODY_BYTES", "the limit is 524,288, got at least 600,000", 413
    ),
]

NONSENSE = [*DOCUMENTS, *REQUESTS]
