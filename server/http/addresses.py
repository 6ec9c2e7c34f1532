"""``/ping/…``, ``/badge/…`` and ``/calendar/…``: addresses that nobody guesses, for programs without an account.

Pings follow the protocol of Healthchecks, so that its clients work here.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from html import escape
from typing import Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ...graphql.app import masked_response
from ...graphql.base.errors import UserFacingError
from ...graphql.guard.admission import Admission, address_of
from ...jobs.builtin.foreign_job import PingKind
from ...jobs.core.base.errors import UserError
from ...jobs.delivery import addresses
from ...jobs.delivery.addresses import AskedPing, Badge, Pinged
from ...jobs.store.db.database import Database
from ..auth.forms import read_body
from ..process.lifecycle import Lifecycle, Phase

PING_BODY: Final = 100_000
"""Bytes of the body of a ping that are kept."""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Access-Control-Allow-Origin": "*",
    "Ping-Body-Limit": str(PING_BODY),
}
_CODE: Final = re.compile(r"[0-9]{1,3}")
_BY_UUID: Final = {Pinged.NOT_FOUND: (200, "OK (not found)"), Pinged.LIMITED: (200, "OK (rate limited)")}
_ANSWERS: Final = {
    Pinged.TAKEN: (200, "OK"),
    Pinged.CREATED: (201, "Created"),
    Pinged.NOT_FOUND: (404, "not found"),
    Pinged.LIMITED: (429, "rate limit exceeded"),
    Pinged.OVERLAPS: (409, "overlap"),
}


def address_routes(database: Database, lifecycle: Lifecycle, admission: Admission) -> list[Route]:
    """Return the routes.

    Args:
        lifecycle: Before it serves, the database may lack tables.
        admission: Gives requests their turns, fairly among network addresses.
    """

    def guarded(handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            if lifecycle.phase is not Phase.SERVING:
                return _text(503, "The server is not ready; try again in a moment.")
            try:
                async with admission.loop.turn(address_of(None, request)):
                    return await handler(request)
            except UserFacingError as error:
                return _text(error.http_status or 400, error.message)
            except UserError as error:
                return _text(400, error.message)
            except Exception as error:  # noqa: BLE001 - what is not refused on purpose is masked and logged
                return masked_response(error)

        return answer

    pages = _Pages(database)
    pings = [
        Route(f"/ping/{{key}}{rest}", guarded(pages.ping), methods=["GET", "HEAD", "POST"])
        for rest in ("", "/{second}", "/{second}/{third}")
    ]
    return [
        *pings,
        Route("/badge/{key}.svg", guarded(pages.badge), methods=["GET"]),
        Route("/calendar/{key}.ics", guarded(pages.calendar), methods=["GET"]),
    ]


class _Pages:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def ping(self, request: Request) -> Response:
        """Take a ping."""
        asked = _asked(request)
        if isinstance(asked, str):
            return _text(400, asked)
        if request.method == "POST":
            body = await read_body(request, PING_BODY, beginning=True)
            asked = replace(asked, body=body.decode("utf-8", "replace").replace("\0", "\ufffd"))
        found = await self._database.write(addresses.ping, asked)
        answers = _ANSWERS if _uuid(asked.token) is None else _ANSWERS | _BY_UUID
        status, text = answers[found.outcome]
        headers = dict(_HEADERS)
        if found.run_id is not None:
            headers["Cronograph-Run"] = str(found.run_id)
        if found.timeout is not None:
            headers["Cronograph-Timeout"] = f"{found.timeout:g}"
        return PlainTextResponse(text, status, headers)

    async def badge(self, request: Request) -> Response:
        """Draw the state of a task."""
        found = await self._database.read(addresses.badge, request.path_params["key"])
        if found is None:
            return _text(404, "not found")
        # Pages of other sites may show it.
        headers = {"Cache-Control": "no-cache, max-age=0", "Cross-Origin-Resource-Policy": "cross-origin"}
        return Response(_svg(found), headers=headers, media_type="image/svg+xml")

    async def calendar(self, request: Request) -> Response:
        """List the coming occurrences."""
        found = await self._database.read(addresses.coming, request.path_params["key"], self._database.clock)
        if found is None:
            return _text(404, "not found")
        lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Cronograph//Cronograph//EN", "X-WR-CALNAME:Cronograph"]
        stamp = f"{found.now:%Y%m%dT%H%M%SZ}"
        for task, at in found.occurrences:
            lines += [
                "BEGIN:VEVENT",
                f"UID:{task.id}-{at:%Y%m%dT%H%M%S}@cronograph",
                f"DTSTAMP:{stamp}",
                f"DTSTART:{at:%Y%m%dT%H%M%SZ}",
                f"SUMMARY:{_ical(task.name)}",
                f"DESCRIPTION:{_ical(task.spec.description or task.spec.job_name)}",
                "TRANSP:TRANSPARENT",
                "END:VEVENT",
            ]
        text = "".join(f"{part}\r\n" for line in [*lines, "END:VCALENDAR"] for part in _folded(line))
        return Response(text, headers={"Cache-Control": "no-cache"}, media_type="text/calendar; charset=utf-8")


def _text(status: int, text: str) -> Response:
    return PlainTextResponse(text, status, _HEADERS)


def _asked(request: Request) -> AskedPing | str:
    """Return a ping without its body, or the reason why the address is none."""
    key, *more = (request.path_params[name] for name in ("key", "second", "third") if name in request.path_params)
    slug = None if _uuid(key) is not None or not more else more.pop(0)
    if len(more) > 1:
        return "invalid url format"
    kind: PingKind = "success"
    code: int | None = None
    for word in more:
        if word in ("start", "fail", "log"):
            kind = word
        elif _CODE.fullmatch(word) and int(word) <= 255:
            code = int(word)
            kind = "fail" if code else "success"
        else:
            return "invalid url format"
    rid, given = None, request.query_params.get("rid")
    if given is not None:
        rid = _uuid(given)
        if rid is None:
            return "invalid uuid format"
    at = _time(request.query_params.get("at"))
    return AskedPing(
        key,
        slug,
        kind,
        code,
        rid,
        sender=request.client.host if request.client else None,
        at=at,
        creates=request.query_params.get("create") == "1",
        exclusive=request.query_params.get("exclusive") == "1",
    )


def _time(text: str | None) -> datetime | None:
    """Return the time that `cronograph exec` gives a ping that could not be sent at once; None = none that is one."""
    try:
        found = None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None


def _uuid(text: str) -> UUID | None:
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text.lower() else None


_COLOURS: Final = {Badge.OK: "#2f7d32", Badge.FAILED: "#c62828", Badge.PAUSED: "#6b6b6b", Badge.NEW: "#6b6b6b"}


def _svg(found: tuple[str, Badge]) -> str:
    """Draw a badge: the name of the task, and its state."""
    name, state = found
    left, right = 7 * len(name) + 12, 7 * len(state.value) + 12
    title = escape(f"{name}: {state.value}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{title}">'
        f'<title>{title}</title><rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLOURS[state]}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" y="14" textLength="{left - 12}">{escape(name)}</text>'
        f'<text x="{left + right / 2:g}" y="14" textLength="{right - 12}">{state.value}</text></g></svg>'
    )


def _ical(text: str) -> str:
    """Escape a text by RFC 5545, 3.3.11."""
    return re.sub(r"([\\;,])", r"\\\1", text).replace("\r", "").replace("\n", "\\n")


def _folded(line: str) -> list[str]:
    """Cut a line into parts of at most 75 bytes, by RFC 5545, 3.1."""
    parts, rest = [""], 75
    for character in line:
        size = len(character.encode())
        if size > rest:
            parts.append(" ")
            rest = 74
        parts[-1] += character
        rest -= size
    return parts
