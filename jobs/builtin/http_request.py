"""The job ``http_request``: one HTTP request to a public or allowed address, and a judgement of its answer."""

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from ..base.context import JobContext, services_of
from ..base.outcomes import Result
from ..core.base.lazy import LazyModule, load
from ..core.model import Json
from ..own.threads import briefly_in_thread
from .address_guard import AddressGuard, AllowList

if TYPE_CHECKING:
    from . import http_client
else:
    http_client = LazyModule(f"{__package__}.http_client")

MAX_BODY = 256 * 1024
EXCERPT = 200
"""Characters of the answer in the message of an attempt that failed."""

# The connection itself decides these.
_RESERVED = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def _absolute(text: str) -> str:
    http_client.parse_url(text)
    return text


def _small(body: Json) -> Json:
    size = len(_encoded(body) or b"")
    if size > MAX_BODY:
        raise ValueError(f"must have at most {MAX_BODY} bytes, got {size}")
    return body


def _not_reserved(headers: dict[str, str]) -> dict[str, str]:
    for name in headers:
        if name.lower() in _RESERVED:
            raise ValueError(f"must not set '{name}': the connection decides it")
    return headers


Method = Annotated[
    Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"], Field(description="The HTTP method.")
]
Url = Annotated[
    str,
    Field(max_length=4096, pattern=r"^[hH][tT][tT][pP][sS]?://[^\s/?#@]+([/?#]\S*)?$", description="Where to."),
    AfterValidator(_absolute),
]
HeaderName = Annotated[str, Field(max_length=200, pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
HeaderValue = Annotated[str, Field(max_length=8192, pattern=r"^[\x20-\x7e\t]*$")]
Headers = Annotated[
    Annotated[dict[HeaderName, HeaderValue], Field(max_length=50), AfterValidator(_not_reserved)] | None,
    Field(description="Headers to send."),
]
Body = Annotated[
    str | dict[str, Json] | list[Json] | None,
    Field(description="Text is sent as it is, an object or a list as JSON."),
    AfterValidator(_small),
]
Status = Annotated[int, Field(ge=100, le=599)]
Seconds = Annotated[float, Field(gt=0, le=3600, description="Seconds for the whole request, redirects included.")]
Statuses = Annotated[list[Status], Field(min_length=1, max_length=50)]
Expected = Annotated[
    Status | Statuses | None,
    Field(description="The status that counts as success, or several; unless set, any 2xx."),
]

Redirects = Annotated[bool, Field(description="Whether redirects are followed, at most five.")]


class UnexpectedStatusError(Exception):
    """The answer came, but with a status that does not count as success."""


async def http_request(  # noqa: PLR0917 - the parameters are the arguments of the job
    context: JobContext,
    url: Url,
    method: Method = "GET",
    headers: Headers = None,
    body: Body = None,
    expected_status: Expected = None,
    timeout: Seconds = 30.0,
    follow_redirects: Redirects = True,
) -> Result:
    """Sends an HTTP request and fails unless the answer has the expected status.

    The result value holds ``status``, ``url``, ``contentType``, ``body`` (text, at most 64 KiB) and ``cut``.
    """
    await briefly_in_thread(load, http_client)
    guard = AddressGuard(AllowList.parse(services_of(context).http_allow))
    seconds_left = min(timeout, context.remaining if context.remaining is not None else timeout)
    request = http_client.HttpRequest(
        method,
        http_client.parse_url(url),
        _headers(headers or {}, body),
        _encoded(body),
        follow_redirects,
        seconds_left,
    )
    try:
        async with asyncio.timeout(seconds_left):
            answer = await http_client.send(request, guard)
    except TimeoutError as error:
        raise http_client.HttpFailedError(f"{request.shown}: no complete answer within {seconds_left:g} s") from error
    _judge(request, answer, expected_status)
    context.log.info("answered", status=answer.status, bytes=len(answer.body), cut=answer.cut)
    return Result(value=_value(answer))


def _headers(headers: dict[str, str], body: Json) -> dict[str, str]:
    named = {name.lower() for name in headers}
    json_body = body is not None and not isinstance(body, str)
    return {"Content-Type": "application/json", **headers} if json_body and "content-type" not in named else headers


def _encoded(body: Json) -> bytes | None:
    if body is None:
        return None
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def _judge(
    request: "http_client.HttpRequest", answer: "http_client.HttpAnswer", expected: int | list[int] | None
) -> None:
    """Check that an answer has the expected status.

    Raises:
        UnexpectedStatusError: another status; quotes the beginning of the answer.
    """
    wanted = [expected] if isinstance(expected, int) else expected
    if answer.status in wanted if wanted is not None else 200 <= answer.status < 300:
        return
    what = "2xx" if wanted is None else " or ".join(map(str, wanted))
    excerpt = " ".join(answer.text[:EXCERPT].split())
    raise UnexpectedStatusError(
        f"{request.shown}: expected status {what}, got {answer.status}" + (f": {excerpt}" if excerpt else "")
    )


def _value(answer: "http_client.HttpAnswer") -> dict[str, Json]:
    return {
        "status": answer.status,
        "url": http_client.shown(answer.url),
        "contentType": answer.headers.get("content-type"),
        "body": answer.text,
        "cut": answer.cut,
    }
