"""What sign-in takes from outside: small bodies, strict JSON, plain forms, and paths that stay on this site."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from ....graphql.base.errors import UserFacingError
from ....graphql.guard.limits import Limits
from ....graphql.transport.request import as_object, decode, parse_json

MAX_BODY: Final = 8_192
MAX_FIELDS: Final = 20
_LIMITS: Final = Limits()
_PATH: Final = re.compile(r"/(?![/\\])[^\x00-\x20\\\x7f]{0,1999}")


async def form(request: Request) -> dict[str, str]:
    """The fields of a form; of several of one name the last.

    Raises:
        UserFacingError: it is too long, no form, or no UTF-8.
    """
    _check_type(request, "application/x-www-form-urlencoded")
    text = decode(await read_body(request))
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"))
    except ValueError:
        raise _bad("The form must have a few fields in UTF-8.") from None


async def json_object(request: Request) -> Mapping[str, object]:
    """The members of a JSON object.

    Raises:
        UserFacingError: it is too long, or no JSON object.
    """
    _check_type(request, "application/json")
    found = as_object(parse_json(decode(await read_body(request)), _LIMITS))
    if found is None:
        raise _bad("The body must be a JSON object.")
    return found


def text_member(members: Mapping[str, object], name: str) -> str:
    """A member that must be a string; empty when it is not there.

    Raises:
        UserFacingError: it is something else, or holds U+0000, which PostgreSQL cannot look for.
    """
    value = members.get(name, "")
    if not isinstance(value, str) or "\0" in value:
        raise _bad(f"'{name}' must be a string without U+0000.")
    return value


def local_path(wanted: str | None) -> str:
    """Where to go next: a path of this site, no matter what was asked for."""
    return wanted if wanted is not None and _PATH.fullmatch(wanted) else "/"


async def read_body(request: Request, most: int = MAX_BODY) -> bytes:
    """The body of a request, of which no more is read than it may have.

    Raises:
        UserFacingError: it has more than ``most`` bytes.
    """
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            message = f"The body must have at most {most:,} bytes; send what is larger in another way."
            raise UserFacingError(message, code="LIMIT_BODY_BYTES", http_status=413)
        parts.append(part)
    return b"".join(parts)


def _check_type(request: Request, wanted: str) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != wanted:
        message = f"The Content-Type must be {wanted}, got '{given[:100]}'."
        raise UserFacingError(message, code="UNSUPPORTED_MEDIA_TYPE", http_status=415)


def _bad(message: str) -> UserFacingError:
    return UserFacingError(message, code="INVALID_REQUEST", http_status=400)
