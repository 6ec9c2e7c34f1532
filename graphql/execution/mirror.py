"""GraphQL objects of the engine's values: what has the same name on both sides is taken over and not named again."""

from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar, cast

from .shown import is_key

G = TypeVar("G")


def mirror(kind: type[G], source: object, prefix: str | None = None, /, **made: object) -> G:
    """The object of a GraphQL type for a value of the engine; keys become decimal text.

    Tasks, runs and executions, of which a page has hundreds, are made field by field instead (see ``shown``).

    Args:
        kind: The type; each of its fields that is not ``made`` must be an attribute of ``source``.
        source: The value.
        prefix: The attribute of ``source`` in which those fields are looked for that it does not have itself.
        made: The fields that are no mere attributes.

    Raises:
        AttributeError: neither has a field.
    """
    names, read, keys = _plan(cast("Any", kind), cast("Any", type(source)), prefix, tuple(made))
    values: dict[str, Any] = dict(zip(names, read(source), strict=True))
    for name in keys:
        if values[name] is not None:
            values[name] = str(values[name])
    return kind(**values, **made)


@lru_cache(maxsize=256)
def _plan(
    kind: type[Any], source: type[Any], prefix: str | None, made: tuple[str, ...]
) -> tuple[tuple[str, ...], Callable[[object], tuple[Any, ...]], tuple[str, ...]]:
    """The fields to take over, how they are read at once, and which of them are keys."""
    wanted = [field for field in fields(kind) if field.init and field.name not in made]
    names = tuple(field.name for field in wanted)
    # The values of the engine have slots, so that their classes have an attribute for each.
    paths = [name if prefix is None or hasattr(source, name) else f"{prefix}.{name}" for name in names]
    keys = tuple(field.name for field in wanted if is_key(field))
    return names, attrgetter(*paths), keys
