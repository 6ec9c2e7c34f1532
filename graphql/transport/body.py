"""Read request bodies, none further than its limit, and documents that are known by their hash.

A wide body takes memory and time, so it needs somebody who may change things, and only few are read at a time.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request

from graphql import OperationType

from ..base.errors import UserFacingError
from ..guard.admission import MayWrite, nobody
from ..guard.document import Prepared, RequestRefused
from ..guard.limits import Limits
from .request import GraphQLRequest


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


PROGRAMS: Final = Path(__file__).parents[1] / "client" / "documents.json"
"""The documents of the command line and of the Python client, by SHA-256; ``make schema`` writes it."""


def sha256_of(text: str) -> str:
    """Return the hash under which a document is known: SHA-256 of its UTF-8 form, lower-case hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class TrustedDocuments:
    """The documents that are known from the start.

    Attributes:
        by_hash: Document by SHA-256, lower-case hexadecimal.
        only: Whether no other document runs.
    """

    by_hash: Mapping[str, str] = field(default_factory=dict[str, str])
    only: bool = False

    def __post_init__(self) -> None:
        """Check the hashes.

        Raises:
            ValueError: a hash is not that of its document.
        """
        for sha256, text in self.by_hash.items():
            if sha256_of(text) != sha256:
                raise ValueError(f"The list names {sha256} for a document whose SHA-256 is {sha256_of(text)}")


class PersistedDocuments:
    """Finds documents by hash: trusted ones for ever, those of clients least recently used out first."""

    def __init__(self, limits: Limits, trusted: TrustedDocuments | None = None) -> None:
        """Set up the store.

        Args:
            limits: ``persisted_documents`` and ``persisted_bytes`` bound the documents that clients register.
            trusted: The documents known from the start; none unless given.
        """
        self._limits = limits
        self._trusted = trusted or TrustedDocuments()
        self._documents: OrderedDict[str, str] = OrderedDict()
        self._characters = 0

    def resolve(self, request: GraphQLRequest) -> GraphQLRequest:
        """Return the request with its document filled in.

        Raises:
            RequestRefused: ``PERSISTED_QUERY_NOT_FOUND``, ``PERSISTED_HASH_MISMATCH`` or ``DOCUMENT_NOT_ALLOWED``.
        """
        if request.sha256 is None and not self._trusted.only:
            return request
        if request.query and request.sha256 not in (None, actual := sha256_of(request.query)):
            message = f"The document does not have the SHA-256 {request.sha256}; its own is {actual}."
            raise _refused(message, "PERSISTED_HASH_MISMATCH")
        sha256 = request.sha256 or sha256_of(request.query)
        trusted = self._trusted.by_hash.get(sha256)
        if trusted is not None:
            return replace(request, query=trusted, sha256=sha256)
        if self._trusted.only:
            message = f"This server runs trusted documents only; {sha256} is not one of them."
            raise _refused(message, "DOCUMENT_NOT_ALLOWED")
        if request.query:
            return request
        text = self._documents.get(sha256)
        if text is None:
            # The wording is that which clients of automatic persisted queries look for before they send the document.
            raise _refused("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND")
        self._documents.move_to_end(sha256)
        return replace(request, query=text)

    def remember(self, request: GraphQLRequest) -> None:
        """Register the document of a request that passed every check, if it came with a hash."""
        sha256 = request.sha256
        if sha256 is None or sha256 in self._trusted.by_hash or sha256 in self._documents:
            return
        self._documents[sha256] = request.query
        self._characters += len(request.query)
        while len(self._documents) > self._limits.persisted_documents or (
            # A character takes up to four bytes in memory.
            4 * self._characters > self._limits.persisted_bytes and len(self._documents) > 1
        ):
            _, text = self._documents.popitem(last=False)
            self._characters -= len(text)

    def __len__(self) -> int:
        return len(self._documents)


def _refused(message: str, code: str) -> RequestRefused:
    return RequestRefused([UserFacingError(message, code=code)])
