"""Read the bodies of sign-in and signals: small ones, strict JSON, forms, and paths of this site; note refusals."""

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...graphql.base.errors import UserFacingError
from ...graphql.guard.limits import Limits
from ...graphql.resolving.context import Context
from ...graphql.transport.body import BodyReader
from ...graphql.transport.request import as_object, decode, parse_json
from ...jobs.actions.idempotent import acting
from ...jobs.store.db.faults import log_fault
from ...jobs.store.db.transaction import Tx

log = logging.getLogger("cronograph.sign_in")

EVERY: Final = 60.0
"""Seconds between two entries of one account about one field: refusals cost nothing, and entries stay for a year."""
MOST: Final = 10_000
"""Pairs of account and field that are remembered."""


@dataclass(slots=True)
class _Noted:
    at: float
    since: int = 0


class Refusals:
    """Writes them down.

    Args:
        clock: Monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._noted: OrderedDict[tuple[str, object], _Noted] = OrderedDict()

    async def __call__(self, context: object, refusal: UserFacingError) -> None:
        """Keep one. A database that is unavailable does not keep the refusal from being answered."""
        about = refusal.extensions or {}
        if not isinstance(context, Context) or "requiredRole" not in about:
            return
        attempts = self._attempts(context.person.name, about["field"])
        if not attempts:
            return
        try:
            await context.database.write(acting, context.person.actor, _record, {**about, "attempts": attempts})
        except Exception as error:  # noqa: BLE001 - logged; the refusal itself is to be answered
            log_fault(log, f"a refusal of '{about['field']}' could not be written down", error)

    def _attempts(self, name: str, field: object) -> int:
        """Return how many attempts the next entry stands for; 0 = none is to be written yet."""
        now = self._clock()
        noted = self._noted.setdefault((name, field), _Noted(-EVERY + now))
        noted.since += 1
        if now - noted.at < EVERY:
            return 0
        attempts, noted.at, noted.since = noted.since, now, 0
        self._noted.move_to_end((name, field))
        while len(self._noted) > MOST:
            self._noted.popitem(last=False)
        return attempts


def _record(tx: Tx, about: dict[str, object]) -> None:
    after = {name: about[name] for name in ("requiredRole", "role", "attempts")}
    tx.record("request.refused", str(about["field"]), after=after)


MAX_BODY: Final = 8_192
MAX_FIELDS: Final = 20
JSON_TYPE: Final = "application/json"
FORM_TYPE: Final = "application/x-www-form-urlencoded"
_LIMITS: Final = Limits()
_PATH: Final = re.compile(r"/(?![/\\])[^\x00-\x20\\\x7f]{0,1999}")


def page_and_form(
    path: str, show: Callable[[Request], Awaitable[Response]], send: Callable[[Request], Awaitable[Response]]
) -> Route:
    """Return the route of a page and of the form on it, so that a refusal of other methods names both of its own."""

    async def answer(request: Request) -> Response:
        return await (send if request.method == "POST" else show)(request)

    return Route(path, answer, methods=["GET", "POST"])


async def form(request: Request, known: Collection[str] | None, most: int = MAX_BODY) -> dict[str, str]:
    """Return the fields of a form.

    Args:
        known: Its fields; None where a standard wants others ignored.
        most: Its longest, in bytes.

    Raises:
        UserFacingError: it is too long, no form, no UTF-8, or has a field that is unknown or there twice.
    """
    _check_type(request, FORM_TYPE)
    return fields_of(decode(await read_body(request, most)), known)


def fields_of(text: str, known: Collection[str] | None, what: str = "The form") -> dict[str, str]:
    """Read ``name=value&…``, as a form or a query has it.

    Raises:
        UserFacingError: it has bad percent-encoding, too many fields, or one that is unknown or there twice.
    """
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:
        raise _bad(f"{what} must have at most {MAX_FIELDS} fields, in UTF-8.") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise _bad(
            f"{what} must have each field once, got '{next(one for one in fields if names.count(one) > 1)}' twice."
        )
    odd = next((name for name in fields if known is not None and name not in known), None)
    if odd is None or known is None:
        return fields
    has = f"{what} may have the fields {', '.join(known)}; got '{odd[:100]}'."
    if text.lstrip()[:1] in ("{", "["):
        # What `curl -d` sends unless it is asked to send another type.
        message = f"{has} If the body is JSON, send it with 'Content-Type: {JSON_TYPE}'."
        raise UserFacingError(message, code="UNSUPPORTED_MEDIA_TYPE", http_status=415)
    raise _bad(has)


async def json_object(request: Request, known: Collection[str]) -> Mapping[str, object]:
    """Return the members of a JSON object.

    Raises:
        UserFacingError: it is too long, no JSON object, or has a member that is not ``known``.
    """
    _check_type(request, JSON_TYPE)
    found = as_object(parse_json(decode(await read_body(request)), _LIMITS))
    if found is None:
        raise _bad("The body must be a JSON object.")
    odd = next((name for name in found if name not in known), None)
    if odd is not None:
        raise _bad(f"The body may have the members {', '.join(known)}; got '{odd[:100]}'.")
    return found


def text_member(members: Mapping[str, object], name: str) -> str:
    """Return a member that must be a string; empty when it is not there.

    Raises:
        UserFacingError: it is something else, or holds U+0000, which PostgreSQL cannot look for.
    """
    value = members.get(name, "")
    if not isinstance(value, str) or "\0" in value:
        raise _bad(f"'{name}' must be a string without U+0000.")
    return value


def local_path(wanted: str | None) -> str:
    """Return the path to go to next; a path that leaves this site becomes ``/``."""
    return wanted if wanted is not None and _PATH.fullmatch(wanted) else "/"


async def read_body(request: Request, most: int = MAX_BODY, *, beginning: bool = False) -> bytes:
    """Return the body of a request, of which no more is read than it may have.

    Args:
        most: Its longest, in bytes.
        beginning: Return so many bytes of a longer one.

    Raises:
        UserFacingError: it has more than ``most`` bytes, or does not arrive in time, or not at all.
    """
    return (await BodyReader(_LIMITS).read(request, None, most=most, beginning=beginning)).content


def media_type(request: Request) -> str:
    """Return the media type that a request says its body has, without parameters; empty if it says none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _check_type(request: Request, wanted: str) -> None:
    given = media_type(request)
    if given != wanted:
        message = f"The Content-Type must be {wanted}, got '{given[:100]}'."
        raise UserFacingError(message, code="UNSUPPORTED_MEDIA_TYPE", http_status=415)


def _bad(message: str) -> UserFacingError:
    return UserFacingError(message, code="INVALID_REQUEST", http_status=400)
