"""Persisted documents: clients send the SHA-256 of a document instead of its text.

The request form is that of automatic persisted queries (``extensions.persistedQuery.sha256Hash``): a hash alone is
looked up, a hash with its document registers it. With an allow-list, only the listed documents run.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace

from ..base.errors import UserFacingError
from ..guard.document import RequestRefused
from ..guard.limits import Limits
from .request import GraphQLRequest


def sha256_of(text: str) -> str:
    """The hash under which a document is known: SHA-256 of its UTF-8 form, lower-case hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class PersistedDocuments:
    """Documents by hash: the listed ones for ever, those of clients least recently used out first."""

    def __init__(self, limits: Limits, allow_list: Mapping[str, str] | None = None) -> None:
        """Set up the store.

        Args:
            limits: ``persisted_documents`` and ``persisted_bytes`` bound what clients register.
            allow_list: Document by SHA-256 (lower-case hexadecimal); when given, nothing else runs.

        Raises:
            ValueError: a listed hash is not that of its document.
        """
        self._limits = limits
        self._allowed = allow_list
        self._documents: OrderedDict[str, str] = OrderedDict()
        self._characters = 0
        for sha256, text in (allow_list or {}).items():
            if sha256_of(text) != sha256:
                raise ValueError(f"The allow-list names {sha256} for a document whose SHA-256 is {sha256_of(text)}")

    def resolve(self, request: GraphQLRequest) -> GraphQLRequest:
        """The request with its document filled in.

        Raises:
            RequestRefused: ``PERSISTED_QUERY_NOT_FOUND``, ``PERSISTED_HASH_MISMATCH`` or ``DOCUMENT_NOT_ALLOWED``.
        """
        if request.sha256 is None and self._allowed is None:
            return request
        if request.query and request.sha256 not in (None, actual := sha256_of(request.query)):
            message = f"The document does not have the SHA-256 {request.sha256}; its own is {actual}."
            raise _refused(message, "PERSISTED_HASH_MISMATCH")
        sha256 = request.sha256 or sha256_of(request.query)
        if self._allowed is not None:
            if sha256 not in self._allowed:
                message = f"This server runs listed documents only; {sha256} is not one of them."
                raise _refused(message, "DOCUMENT_NOT_ALLOWED")
            return replace(request, query=self._allowed[sha256], sha256=sha256)
        if request.query:
            return request
        text = self._documents.get(sha256)
        if text is None:
            # The wording is what clients of automatic persisted queries look for before they send the document.
            raise _refused("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND")
        self._documents.move_to_end(sha256)
        return replace(request, query=text)

    def remember(self, request: GraphQLRequest) -> None:
        """Register the document of a request that passed every check, if it came with a hash."""
        if request.sha256 is None or self._allowed is not None or request.sha256 in self._documents:
            return
        self._documents[request.sha256] = request.query
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
