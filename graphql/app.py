"""The routes of the GraphQL API."""

from collections.abc import Collection
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute

from ..jobs.own.threads import briefly_in_thread
from .base.errors import UserFacingError, error_answer, mask
from .guard.admission import Admission
from .transport.body import BodyReader, PersistedDocuments, TrustedDocuments
from .transport.endpoint import HttpEndpoint
from .transport.engine import Engine
from .transport.gateway import Gateway, GetContext, Introspections, Watch, cursor_of_answer, unwatched
from .transport.request import SitePolicy
from .transport.sharing import EventId, SharedStreams, SharePolicy
from .transport.streams import OpenStreams
from .transport.websocket import WebSocketEndpoint

ONLY_LISTED: Final = "This server runs trusted documents only, and so does not show its schema."
PATH: Final = "/graphql"
"""Path of the API."""


def graphql_routes(
    engine: Engine,
    get_context: GetContext,
    *,
    streams: OpenStreams | None = None,
    allowed_hosts: Collection[str] | None = None,
    allowed_origins: Collection[str] = (),
    trusted: TrustedDocuments | None = None,
    event_id: EventId = cursor_of_answer,
    share: SharePolicy | None = None,
    watch: Watch = unwatched,
    admission: Admission | None = None,
) -> list[Route | WebSocketRoute]:
    """Return routes for POST, Server-Sent Events and WebSocket at ``/graphql``, and for the SDL at ``/schema.graphql``.

    The limits are those the schema was built with.

    Args:
        get_context: Makes the context of one operation, see ``Gateway.get_context``.
        streams: Pass one to call its ``shutdown()`` when the server stops: open streams would keep it from stopping.
        allowed_hosts: Names that the Host header may have; None = any.
        allowed_origins: Further origins whose pages may call.
        trusted: The documents known from the start, and whether only these run; none unless given.
        event_id: Cursor of a subscription's answer, for the ``id:`` of server-sent events and for sharing.
        share: Which subscriptions of equal subscribers are executed once; None = none.
        watch: Ends streams whose readers have lost the right to them, see ``Gateway.watch``.
        admission: Decides which operations run now and which wait; unless given, contexts are as ``get_context``
            makes them.
    """
    schema = engine.schema
    if trusted is not None:
        engine.trust(trusted.by_hash.values())
    admission = admission or Admission(schema.limits)
    gateway = Gateway(
        engine=engine,
        introspections=Introspections(engine),
        get_context=get_context,
        site=SitePolicy(allowed_hosts, allowed_origins),
        persisted=PersistedDocuments(schema.limits, trusted),
        streams=OpenStreams(schema.limits) if streams is None else streams,
        shared=SharedStreams(engine, event_id, share),
        watch=watch,
        admission=admission,
        bodies=BodyReader(schema.limits, admission.may_write),
    )

    async def schema_text(request: Request) -> Response:
        # The same as an introspection query, so by the same rule: who asks, and whether any document may.
        try:
            await get_context(request)
        except Exception as error:  # noqa: BLE001 - masked and logged; a deliberate one passes unchanged
            return masked_response(error)
        if trusted is not None and trusted.only:
            return masked_response(UserFacingError(ONLY_LISTED, code="DOCUMENT_NOT_ALLOWED", http_status=403))
        # In a thread: the first time it is put together, which takes a tenth of a second.
        sdl = await briefly_in_thread(lambda: schema.sdl)
        return PlainTextResponse(sdl, headers={"cache-control": "no-cache", "x-content-type-options": "nosniff"})

    return [
        Route(PATH, HttpEndpoint(gateway)),
        WebSocketRoute(PATH, WebSocketEndpoint(gateway)),
        Route("/schema.graphql", schema_text),
    ]


def masked_response(error: Exception) -> Response:
    """Return the answer of a plain route that failed: a deliberate error as it is, any other masked and logged."""
    shown = mask(error)
    if isinstance(shown, UserFacingError):
        status = shown.http_status or 500
    else:
        status = 503 if (shown.extensions or {}).get("code") == "UNAVAILABLE" else 500
    return JSONResponse(error_answer([shown]), status, headers={"cache-control": "no-store"})
