"""Answers as gzip, where the client takes that and there is something to spare."""

import zlib
from typing import Final

from starlette.responses import Response

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
