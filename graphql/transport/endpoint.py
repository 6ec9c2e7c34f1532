"""POST ``/graphql``: one operation per request, as JSON; every refusal is a GraphQL error with a code."""

import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ..base.errors import UserFacingError, error_answer, mask
from ..guard.document import Prepared, RequestRefused
from .engine import encode_json
from .gateway import Gateway
from .request import GraphQLRequest
from .sse import EventStream, last_event_id

SMALLEST: Final = 4_096
"""Bytes of an answer from which on it is compressed: what is smaller fits into three packets of a network as it is."""

LEVEL: Final = 1
"""Of zlib, the fastest: answers repeat their keys, so the next ones spare a tenth more for twice the time."""

GZIP: Final = 31
"""The form of gzip (RFC 1952) for zlib, with the largest window."""


def accepted_codings(header: str) -> frozenset[str]:
    """Return the content codings that an ``Accept-Encoding`` names and does not forbid with ``q=0``."""
    parts = (part.partition(";") for part in header.lower().split(","))
    return frozenset(name.strip() for name, _, weight in parts if weight.replace(" ", "") not in {"q=0", "q=0.0"})


def compress(response: Response, accept_encoding: str) -> None:
    """Put the body of an answer into gzip, if it is long and the client's ``Accept-Encoding`` names gzip.

    ``Vary`` says so to caches, also where the client does not take it.
    """
    if len(response.body) < SMALLEST:
        return
    response.headers["vary"] = "Accept-Encoding"
    if "gzip" not in accepted_codings(accept_encoding):
        return
    response.body = zlib.compress(response.body, LEVEL, GZIP)
    response.headers["content-encoding"] = "gzip"
    response.headers["content-length"] = str(len(response.body))


class MediaType(StrEnum):
    """The forms of answer."""

    JSON = "application/json"
    GRAPHQL = "application/graphql-response+json"
    STREAM = "text/event-stream"


def negotiate(accept: str | None) -> MediaType:
    """Return the best form of answer for an ``Accept`` header; JSON when there is none.

    Raises:
        UserFacingError: ``NOT_ACCEPTABLE``, HTTP 406.
    """
    if not accept:
        return MediaType.JSON
    best: tuple[float, MediaType] | None = None
    for part in accept[:2_000].split(","):
        name, _, parameters = part.partition(";")
        media = _media_type(name.strip().lower())
        quality = _quality(parameters)
        if media is not None and quality > 0 and (best is None or quality > best[0]):
            best = (quality, media)
    if best is None:
        forms = ", ".join(MediaType)
        raise UserFacingError(
            f"The Accept header must allow one of {forms}, got '{accept[:100]}'.",
            code="NOT_ACCEPTABLE",
            http_status=406,
        )
    return best[1]


def status_of(answer: Mapping[str, Any], media: MediaType, errors: Sequence[Exception] = ()) -> int:
    """Return the HTTP status of an answer by the rules of GraphQL over HTTP.

    An answer with ``data`` is 200, also when it has errors. Without data it is that of a ``UserFacingError``, 500
    for an internal error, else 400; in the older form ``application/json``, where clients expect it, 200 instead of
    400.

    Args:
        errors: The errors of a refused request, for their ``http_status``.
    """
    if "data" in answer:
        return 200
    for error in errors:
        if isinstance(error, UserFacingError) and error.http_status is not None:
            return error.http_status
    codes = {error.get("extensions", {}).get("code") for error in answer.get("errors", ())}
    if "INTERNAL_ERROR" in codes:
        return 500
    if "FORBIDDEN" in codes:
        return 403
    if "TIMEOUT" in codes:
        return 504
    return 200 if media is MediaType.JSON else 400


def _media_type(name: str) -> MediaType | None:
    if name in ("*/*", "application/*"):
        return MediaType.JSON
    if name == "text/*":
        return MediaType.STREAM
    return next((media for media in MediaType if media.value == name), None)


def _quality(parameters: str) -> float:
    for parameter in parameters.split(";"):
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


CONTENT_TYPE: Final = re.compile(r'application/json\s*(;\s*charset="?utf-8"?\s*)?', re.IGNORECASE)
HEADERS: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


class HttpEndpoint:
    """The ASGI application of the route; it takes every method, to refuse all but POST in the same form."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        response = await self._respond(request)
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> ASGIApp:
        media = MediaType.JSON
        try:
            self._check_head(request)
            media = negotiate(request.headers.get("accept"))
            # Before the body is read: who may not ask need not be listened to.
            context = await self._gateway.get_context(request)
            if media is MediaType.STREAM:
                body = await self._gateway.bodies.read(request, context, most=self._gateway.limits.body_bytes)
                operation = await self._gateway.parse(body, context, request)
                return await self._stream(request, operation, context)
            body = await self._gateway.bodies.read(request, context)
            operation = await self._gateway.parse(body, context, request)
            prepared = await self._gateway.prepare(operation, context, request)
            body.check(prepared, self._gateway.limits)
            return await self._execute(request, prepared, context, media)
        except RequestRefused as refused:
            return self._refusal(refused.errors, media)
        except Exception as error:  # noqa: BLE001 - masked and logged; a deliberate one passes unchanged
            return self._refusal([mask(error)], media)

    def _check_head(self, request: Request) -> None:
        if request.method != "POST":
            message = (
                f"GraphQL is served by POST; {request.method[:20]} is not supported. Send JSON to {request.url.path}."
            )
            raise UserFacingError(message, code="METHOD_NOT_ALLOWED", http_status=405)
        self._gateway.site.check(request)
        content_type = request.headers.get("content-type", "")
        if not CONTENT_TYPE.fullmatch(content_type.strip()):
            message = f"The Content-Type must be application/json, got '{content_type[:100]}'."
            raise UserFacingError(message, code="UNSUPPORTED_MEDIA_TYPE", http_status=415)
        encoding = request.headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            message = f"The body must not be compressed, got Content-Encoding '{encoding[:100]}'."
            raise UserFacingError(message, code="UNSUPPORTED_ENCODING", http_status=415)

    async def _execute(self, request: Request, prepared: Prepared, context: Any, media: MediaType) -> Response:  # noqa: ANN401
        if prepared.is_subscription:
            message = "A subscription needs a stream: use a WebSocket, or POST with 'Accept: text/event-stream'."
            raise UserFacingError(message, code="SUBSCRIPTION_NEEDS_STREAM", http_status=400)
        answer = await self._gateway.execute(prepared, context, request)
        response = _json(answer.text, media, status_of(answer.content, media))
        _say_when(response, answer.content)
        compress(response, request.headers.get("accept-encoding", ""))
        return response

    async def _stream(self, request: Request, operation: GraphQLRequest, context: Any) -> ASGIApp:  # noqa: ANN401
        client = self._gateway.admission.client_of(context, request)
        self._gateway.streams.check(client)
        cursor = last_event_id(request)
        if cursor is not None:
            # Variables that an operation does not declare are ignored.
            variables = {**operation.variables, self._gateway.resume_variable: cursor}
            operation = replace(operation, variables=variables)
        try:
            prepared = await self._gateway.prepare(operation, context, request)
            # Others may have come meanwhile; nothing else happens before the stream opens.
            self._gateway.streams.check(client)
            return EventStream(self._gateway, prepared, context, request)
        except RequestRefused as refused:
            # The protocol wants refusals inside of the stream: browsers show nothing of a failed one.
            return EventStream(self._gateway, refused, context, request)

    def _refusal(self, errors: list[Any], media: MediaType) -> Response:
        answer = error_answer(errors)
        if media is MediaType.STREAM:
            # A stream that never began is refused in plain JSON.
            media = MediaType.GRAPHQL
        response = _json(encode_json(answer), media, status_of(answer, media, errors))
        _say_when(response, answer)
        if response.status_code == 405:
            response.headers["allow"] = "POST"
        if response.status_code == 401:
            response.headers["www-authenticate"] = 'Bearer realm="cronograph"'
        return response


def _json(text: str, media: MediaType, status: int) -> Response:
    # JSON is UTF-8 by definition; the parameter helps old clients.
    return Response(text.encode(), status, HEADERS, media_type=f"{media}; charset=utf-8")


def _say_when(response: Response, answer: Mapping[str, Any]) -> None:
    """Repeat in whole seconds, for those who know HTTP alone, the errors' wait before another try."""
    waits = [error.get("extensions", {}).get("retryAfter", 0) for error in answer.get("errors", ())]
    longest = max(waits, default=0)
    if longest > 0:
        response.headers["retry-after"] = str(math.ceil(longest))
