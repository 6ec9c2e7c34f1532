"""Which form of answer a client asked for by its ``Accept`` header, and the status that goes with it."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from ...base.errors import UserFacingError


class MediaType(StrEnum):
    """The forms of answer."""

    JSON = "application/json"
    GRAPHQL = "application/graphql-response+json"
    STREAM = "text/event-stream"


def negotiate(accept: str | None) -> MediaType:
    """The best form of answer for an ``Accept`` header; JSON when there is none.

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
    """HTTP status of an answer by the rules of GraphQL over HTTP.

    An answer with ``data`` is 200, also when it has errors. Without data it is what a ``UserFacingError`` asks for, 500
    for an internal error, else 400; in the older form ``application/json``, where clients expect it, 200 instead of
    400.

    Args:
        answer: The answer.
        media: Its form.
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
