"""What arguments a job takes, as one short word: nodes of two versions that print the same word take the same ones."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

_LENGTH = 16
_ANNOTATIONS = ("title", "description")
"""Keys of a JSON Schema whose texts say nothing about what is accepted."""


def signature_of(job_name: str, args_schema: Mapping[str, Any]) -> str:
    """The signature of a job: 16 hexadecimal digits of a hash of its name and of what its arguments must be."""
    text = json.dumps([job_name, _essence(args_schema)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def foreign_to(own: Mapping[str, str], others: Mapping[str, str]) -> frozenset[str]:
    """The signatures that another node has for jobs of which this one has another version.

    Args:
        own: Job name to signature, of this node.
        others: The same of the other node.
    """
    return frozenset(word for name, word in others.items() if name in own and own[name] != word)


def _essence(schema: object) -> object:
    if isinstance(schema, Mapping):
        parts = cast("Mapping[str, object]", schema)
        return {
            key: _essence(value) for key, value in parts.items() if not (key in _ANNOTATIONS and isinstance(value, str))
        }
    if isinstance(schema, list):
        items = cast("list[object]", schema)
        return [_essence(item) for item in items]
    return schema
