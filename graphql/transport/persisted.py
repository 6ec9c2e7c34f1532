"""Documents by hash: clients send the SHA-256 of a document instead of its text.

Trusted documents are known from the start: those of the dashboard, of the command line and of the Python client, and
those that the settings list. Clients may register others, as automatic persisted queries do: a hash alone is looked up,
and a hash with its document registers that.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from ..base.errors import UserFacingError
from ..guard.document import RequestRefused
from ..guard.limits import Limits
from .request import GraphQLRequest

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
