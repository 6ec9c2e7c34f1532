"""JSON Schema in short words."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Shape: TypeAlias = dict[str, Any]

TEXT: Final[Shape] = {"type": "string"}
TIME: Final[Shape] = {"type": "string", "format": "date-time"}
INTEGER: Final[Shape] = {"type": "integer"}
NUMBER: Final[Shape] = {"type": "number"}
FLAG: Final[Shape] = {"type": "boolean"}
ANY: Final[Shape] = {"description": "Any value."}


def maybe(shape: Shape) -> Shape:
    """The shape, or null."""
    kind = shape.get("type")
    if isinstance(kind, str) and "enum" not in shape:
        return {**shape, "type": [kind, "null"]}
    return {"anyOf": [shape, {"type": "null"}]} if shape != ANY else shape


def many(shape: Shape) -> Shape:
    """A list of it."""
    return {"type": "array", "items": shape}


def one_of(*values: str) -> Shape:
    """One of these words."""
    return {"type": "string", "enum": list(values)}


def thing(fields: Mapping[str, Shape], name: str | None = None, optional: frozenset[str] = frozenset()) -> Shape:
    """An object with these fields, all of them unless ``optional``, and no other.

    Args:
        fields: Each with its shape.
        name: What it is called.
        optional: Those that may be left out.
    """
    return {
        **({"title": name} if name else {}),
        "type": "object",
        "properties": dict(fields),
        "required": [one for one in fields if one not in optional],
        "additionalProperties": False,
    }


def done(**fields: Shape) -> Shape:
    """The answer of a command that did what it was asked for."""
    return thing({"ok": {"const": True}, **fields})


def either(*shapes: Shape) -> Shape:
    """One or the other."""
    return {"anyOf": list(shapes)}
