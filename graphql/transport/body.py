"""Reads request bodies, none further than its limit: that of all requests, or the wider one of mutations of many rows.

A wide body takes memory and time, so it needs somebody who may change things, and only few are read at a time.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect, Request

from graphql import OperationType

from ..base.errors import UserFacingError
from ..guard.admission import MayWrite, nobody
from ..guard.document import Prepared
from ..guard.limits import Limits


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request.

    Attributes:
        wide: Whether it is longer than most may be.
    """

    content: bytes
    wide: bool

    def check(self, prepared: Prepared, limits: Limits) -> None:
        """Refuse operations that need no wide body: all but mutations.

        Raises:
            UserFacingError: ``LIMIT_BODY_BYTES``.
        """
        if self.wide and prepared.operation.operation is not OperationType.MUTATION:
            raise _too_large(limits.body_bytes, len(self.content))


class BodyReader:
    """Reads the bodies of all requests."""

    def __init__(self, limits: Limits, may_write: MayWrite = nobody) -> None:
        self._limits = limits
        self._may_write = may_write
        self._wide = asyncio.Semaphore(limits.wide_bodies)

    async def read(
        self,
        request: Request,
        context: Any,  # noqa: ANN401 - the schema's own
        *,
        most: int | None = None,
        beginning: bool = False,
    ) -> Body:
        """Read the body.

        Args:
            context: Knows who asks.
            most: Its longest, in bytes; as the limits say unless given.
            beginning: Read ``most`` bytes of a longer body, and refuse none for its length.

        Raises:
            UserFacingError: ``LIMIT_BODY_BYTES`` or ``LIMIT_BODY_SECONDS``; ``LIMIT_WIDE_BODIES`` if too many are read
                now; ``INVALID_REQUEST`` if the connection ends before the body.
        """
        usual = self._limits.body_bytes
        if most is None:
            most = self._limits.wide_body_bytes if self._may_write(context) else usual
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length[:19]) > most and not beginning:
            raise _too_large(most, int(length[:19]))
        chunks: list[bytes] = []
        size = 0
        holds = False
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > most and not beginning:
                        raise _too_large(most, size)
                    if size > usual and not holds:
                        self._check_room()
                        holds = await self._wide.acquire()
                    chunks.append(chunk)
                    if size > most:
                        break
        except ClientDisconnect as error:
            message = "The connection ended before the end of the body."
            raise UserFacingError(message, code="INVALID_REQUEST", http_status=400) from error
        except TimeoutError:
            message = f"The body must arrive within {self._limits.body_seconds:g} s, got {size:,} bytes of it."
            raise UserFacingError(message, code="LIMIT_BODY_SECONDS", http_status=408) from None
        finally:
            if holds:
                self._wide.release()
        return Body(b"".join(chunks)[:most], wide=size > usual)

    def _check_room(self) -> None:
        if self._wide.locked():
            most = self._limits.wide_bodies
            message = (
                f"The server reads as many bodies above {self._limits.body_bytes:,} bytes as it can at once: {most}. "
                "Try again in a moment, or send fewer rows at a time."
            )
            extensions = {"limit": "wide_bodies", "maximum": most}
            raise UserFacingError(message, code="LIMIT_WIDE_BODIES", http_status=503, extensions=extensions)


def _too_large(maximum: int, size: int) -> UserFacingError:
    message = f"The body is too large, in bytes: the limit is {maximum:,}, got at least {size:,}."
    extensions = {"limit": "body_bytes", "maximum": maximum, "requested": size}
    return UserFacingError(message, code="LIMIT_BODY_BYTES", http_status=413, extensions=extensions)
