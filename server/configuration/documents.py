"""Trusted documents: lists of GraphQL documents by SHA-256, our own and those of the settings."""

import json
from pathlib import Path
from typing import Any, cast

from ...graphql.transport.persisted import PROGRAMS, sha256_of
from ...jobs.core.base.errors import ConfigurationError

PAGES = "documents.json"
"""The list that the build of the dashboard writes: the operations of its pages."""

MANIFEST = "apollo-persisted-query-manifest"
"""The ``format`` of the manifest that Apollo's tools write."""

MAX_FAULTS = 5
"""Faults of one file that are reported."""


def own_documents(site: Path) -> dict[str, str]:
    """Return the documents of our own programs, by SHA-256.

    Args:
        site: The folder of the built dashboard; without one in it, its operations are missing.
    """
    built = site / PAGES
    pages = read_documents(built) if built.is_file() else {}
    return pages | read_documents(PROGRAMS)


def read_documents(path: Path) -> dict[str, str]:
    """Return the documents of a file, by SHA-256.

    The file is JSON: an object of SHA-256 and document, as most tools write it (``persisted-documents.json``), or
    Apollo's manifest (``{"format": "apollo-persisted-query-manifest", "operations": [{"id", "body"}]}``).

    Raises:
        ConfigurationError: it cannot be read or is of another form, or a hash is not that of its document; a line each.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"must be a readable JSON file: {error}") from error
    listed = _listed(data)
    if listed is None:
        form = 'an object of SHA-256 and document, or a manifest of Apollo with "operations"'
        raise ConfigurationError(f"must hold {form}")
    faults = [
        f"'{sha256[:80]}' must be the SHA-256 of its document, which is {actual}"
        for sha256, text in listed.items()
        if (actual := sha256_of(text)) != sha256
    ]
    if faults:
        more = [f"and {len(faults) - MAX_FAULTS} more"] if len(faults) > MAX_FAULTS else []
        raise ConfigurationError("\n".join([*faults[:MAX_FAULTS], *more]))
    return listed


def _listed(data: object) -> dict[str, str] | None:
    """Return document by hash; None if the data are of neither form."""
    if not isinstance(data, dict):
        return None
    members = cast("dict[str, Any]", data)
    if members.get("format") == MANIFEST:
        try:
            members = {one["id"]: one["body"] for one in members["operations"]}
        except (KeyError, TypeError):
            return None
    return members if all(isinstance(text, str) for pair in members.items() for text in pair) else None
