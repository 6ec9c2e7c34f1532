"""The request of a client: strict JSON in, a checked :class:``GraphQLRequest`` out.

Python's ``json`` accepts more than JSON (NaN, duplicate keys) and fails in its own ways on nesting and long numbers;
here every such body gets a refusal that names the fault.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

from ..base.errors import UserFacingError
from ..guard.limits import Limits

NO_BRACKETS: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[^\[\]{}"]+', re.DOTALL)
ONE_KIND: Final = str.maketrans("{}", "[]")
DOCUMENT_ID: Final = re.compile(r"sha256:([0-9a-fA-F]{64})")
EXPONENT: Final = re.compile(r"\d[eE]")
TYPE_NAMES: Final[dict[type, str]] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """One operation as a client sends it.

    Attributes:
        query: The document; empty when only its hash is given.
        variables: Raw variable values.
        operation_name: Which operation of the document to run.
        sha256: Hash of the document, lower-case hexadecimal, from ``documentId`` ("sha256:…", as the appendix on
            persisted documents of GraphQL over HTTP has it) or from ``extensions.persistedQuery``.
    """

    query: str
    variables: dict[str, Any]
    operation_name: str | None
    sha256: str | None = None


def decode(body: bytes) -> str:
    """Return the body as text.

    Raises:
        UserFacingError: ``INVALID_UTF8`` with the position of the first bad byte.
    """
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"The body must be UTF-8; byte {error.start} (0x{body[error.start]:02x}) is not: {error.reason}."
        raise _bad_request(message, "INVALID_UTF8") from None


def parse_json(text: str, limits: Limits) -> Any:  # noqa: ANN401 - any JSON value
    """Parse JSON strictly: bounded nesting and numbers, no duplicate keys, no NaN, no NUL, no lone surrogates.

    Raises:
        UserFacingError: ``INVALID_JSON`` with the position, ``LIMIT_JSON_DEPTH`` or ``LIMIT_NUMBER_DIGITS``.
    """
    _check_depth(text, limits)
    # Hooks cost a call per number; most bodies have no number that needs one.
    long_digits = re.search(rf"\d{{{limits.number_digits + 1}}}", text)
    parse_int: Callable[[str], int] | None = _bounded_integer(limits) if long_digits else None
    parse_float: Callable[[str], float] | None = _finite_float if long_digits or EXPONENT.search(text) else None
    try:
        value = json.loads(
            text,
            parse_int=parse_int,
            parse_float=parse_float,
            parse_constant=_refuse_constant,
            object_pairs_hook=_unique_keys,
        )
    except json.JSONDecodeError as error:
        message = f"The body is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        raise _bad_request(message, "INVALID_JSON") from None
    _check_characters(text, value)
    return value


def parse_request(value: object) -> GraphQLRequest:
    """Check the shape ``{query, documentId, variables, operationName, extensions}``.

    Raises:
        UserFacingError: ``BATCH_UNSUPPORTED``, ``INVALID_REQUEST`` or ``MISSING_QUERY``, naming the member that is
            wrong.
    """
    if isinstance(value, list):
        raise _bad_request("Batches are not supported: send one operation per request.", "BATCH_UNSUPPORTED")
    body = as_object(value)
    if body is None:
        raise _wrong_type("The body", 'an object like {"query": "{ viewer { name } }"}', value)
    query: str = _member(body, "query", str, "a string") or ""
    variables: dict[str, Any] = _member(body, "variables", dict, "an object") or {}
    name: str | None = _member(body, "operationName", str, "a string") or None
    extensions: dict[str, Any] = _member(body, "extensions", dict, "an object") or {}
    sha256 = _document_hash(body, _persisted_hash(extensions))
    if not query.strip() and sha256 is None:
        message = "'query' must hold a GraphQL document, or 'documentId' the hash of one as \"sha256:…\"."
        raise _bad_request(message, "MISSING_QUERY")
    return GraphQLRequest(query, variables, name, sha256)


def as_object(value: object) -> dict[str, Any] | None:
    """Return a JSON value as an object, None when it is none."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _document_hash(body: dict[str, Any], persisted: str | None) -> str | None:
    identifier: str | None = _member(body, "documentId", str, "a string")
    if identifier is None:
        return persisted
    found = DOCUMENT_ID.fullmatch(identifier)
    if found is None:
        message = (
            "'documentId' must be \"sha256:\" and the SHA-256 of the document as 64 hexadecimal digits, "
            f"got '{identifier[:100]}'."
        )
        raise _bad_request(message, "INVALID_REQUEST")
    sha256 = found[1].lower()
    if persisted not in (None, sha256):
        message = "'documentId' and 'extensions.persistedQuery.sha256Hash' must name the same document."
        raise _bad_request(message, "INVALID_REQUEST")
    return sha256


def _persisted_hash(extensions: dict[str, Any]) -> str | None:
    persisted = _member(extensions, "persistedQuery", dict, "an object", "extensions.")
    if persisted is None:
        return None
    sha256: str | None = _member(persisted, "sha256Hash", str, "a string", "extensions.persistedQuery.")
    if sha256 is None or not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        message = "'extensions.persistedQuery.sha256Hash' must be the SHA-256 of the document as 64 hexadecimal digits."
        raise _bad_request(message, "INVALID_REQUEST")
    return sha256.lower()


def _member(value: dict[str, Any], key: str, kind: type, expected: str, prefix: str = "") -> Any:  # noqa: ANN401
    member = value.get(key)
    if member is not None and not isinstance(member, kind):
        raise _wrong_type(f"'{prefix}{key}'", f"{expected} or null", member)
    return member


def _check_depth(text: str, limits: Limits) -> None:
    """Bound the nesting before the recursive parser sees it.

    Works on the brackets alone and takes away the innermost level again and again: a loop in C for each level instead
    of a loop in Python over half a million characters.
    """
    maximum = limits.json_depth
    if text.count("[") + text.count("{") <= maximum:
        return
    brackets = NO_BRACKETS.sub("", text).translate(ONE_KIND)
    for _ in range(maximum):
        brackets = brackets.replace("[]", "")
        if not brackets:
            return
    # What is left is nested deeper, or has brackets without a partner, which the parser refuses.
    level = deepest = 0
    for bracket in brackets:
        level += 1 if bracket == "[" else -1
        deepest = max(deepest, level)
    if level == 0 or deepest > maximum:
        deepest += maximum if level == 0 else 0
        message = f"The JSON is nested too deeply: the limit is {maximum}, got {deepest:,}."
        raise _limit("json_depth", message, maximum, deepest)


def _bounded_integer(limits: Limits) -> Callable[[str], int]:
    def parse(digits: str) -> int:
        if len(digits) > limits.number_digits:
            message = (
                f"A number has too many digits: the limit is {limits.number_digits}, got {len(digits):,}; "
                "send it as a string."
            )
            raise _limit("number_digits", message, limits.number_digits, len(digits))
        return int(digits)

    return parse


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _bad_request(f"The number {digits[:40]} is too large; JSON numbers go up to 1.8e308.", "INVALID_JSON")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise _bad_request(f"The body is not valid JSON: {name} is no JSON value; use null or a string.", "INVALID_JSON")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                message = f"The body is not valid JSON: the key '{key[:100]}' occurs twice in one object."
                raise _bad_request(message, "INVALID_JSON")
            seen.add(key)
    return members


def _check_characters(text: str, value: object) -> None:
    # They can only come from escapes: UTF-8 has no surrogates. U+0000 is a character, and refused where it is given.
    if "\\u" not in text:
        return
    again = json.dumps(value, ensure_ascii=False)
    try:
        again.encode("utf-8")
    except UnicodeEncodeError as error:
        character = ord(again[error.start])
        message = f"A string holds half of a surrogate pair (U+{character:04X}), which is no character."
        raise _bad_request(message, "INVALID_CHARACTER") from None


def _wrong_type(what: str, expected: str, value: object) -> UserFacingError:
    got = TYPE_NAMES.get(type(value), "a number")
    return _bad_request(f"{what} must be {expected}, got {got}.", "INVALID_REQUEST")


def _limit(limit: str, message: str, maximum: int, requested: int) -> UserFacingError:
    extensions = {"limit": limit, "maximum": maximum, "requested": requested}
    return UserFacingError(message, code=f"LIMIT_{limit.upper()}", http_status=400, extensions=extensions)


def _bad_request(message: str, code: str) -> UserFacingError:
    return UserFacingError(message, code=code, http_status=400)
