"""The request of a client: strict JSON in, a checked :class:``GraphQLRequest`` out.

Python's ``json`` accepts more than JSON (NaN, duplicate keys) and fails in its own ways on nesting and long numbers;
here every such body gets a refusal that names the fault.
"""

import json
import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from ..base.errors import UserFacingError
from ..guard.limits import Limits

_HOST: Final = re.compile(r"(?P<name>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.ASCII)


def host_name(headers: Headers) -> str | None:
    """Return the name without its port, lower-case, IPv6 addresses in brackets.

    None when there is no such header, more than one, or one that is not a name with or without a port: the part
    behind a comma or a second colon might be read as the name by somebody else.
    """
    values = headers.getlist("host")
    if len(values) != 1:
        return None
    found = _HOST.fullmatch(values[0].lower())
    return None if found is None else found["name"]


DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}


@dataclass(frozen=True, slots=True)
class SitePolicy:
    """Accept hosts and origins.

    Attributes:
        allowed_hosts: Names, without port, that the ``Host`` header may have; None = any.
        allowed_origins: Further origins (``https://ops.example.com``) whose pages may call.
    """

    allowed_hosts: Collection[str] | None = None
    allowed_origins: Collection[str] = ()

    def check(self, connection: HTTPConnection) -> None:
        """Refuse a request of another site.

        Raises:
            UserFacingError: ``HOST_NOT_ALLOWED`` or ``CROSS_SITE``, HTTP 403.
        """
        host = connection.headers.get("host", "")
        if self.allowed_hosts is not None and host_name(connection.headers) not in self.allowed_hosts:
            names = ", ".join(sorted(self.allowed_hosts))
            message = f"The Host header must be one of {names}, got '{host[:100]}'."
            raise UserFacingError(message, code="HOST_NOT_ALLOWED", http_status=403)
        origin = connection.headers.get("origin")
        if origin is not None and origin in self.allowed_origins:
            return
        site = connection.headers.get("sec-fetch-site")
        if site not in (None, "same-origin", "none"):
            message = f"Cross-site requests are refused: Sec-Fetch-Site is '{site[:100]}', it must be 'same-origin'."
            raise UserFacingError(message, code="CROSS_SITE", http_status=403)
        if origin is not None and _authority(origin) != _authority(f"{connection.url.scheme}://{host}"):
            message = f"Cross-site requests are refused: Origin is '{origin[:100]}', this server is '{host[:100]}'."
            raise UserFacingError(message, code="CROSS_SITE", http_status=403)


def _authority(origin: str) -> tuple[str, int] | None:
    """Host and port of an origin; None when it has none ("null"). The scheme differs behind a TLS proxy."""
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname:
        return None
    return parts.hostname.lower(), port or DEFAULT_PORTS.get(parts.scheme, 0)


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
