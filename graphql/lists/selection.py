"""What a query asks of a field, for resolvers whose cost depends on it."""

from collections.abc import Iterable, Iterator

from strawberry.types.nodes import SelectedField, Selection

from ..resolving.context import Info


def asked_of(info: Info) -> frozenset[str]:
    """The fields below the present one, e.g. ``points`` and ``points.p50``; what a directive may leave out counts."""
    return frozenset(path for field in info.selected_fields for path in _paths(field.selections, ""))


def _paths(selections: Iterable[Selection], prefix: str) -> Iterator[str]:
    for selection in selections:
        if isinstance(selection, SelectedField):
            yield prefix + selection.name
            yield from _paths(selection.selections, f"{prefix}{selection.name}.")
        else:
            # A fragment: its fields are those of the type around it.
            yield from _paths(selection.selections, prefix)


def below(asked: Iterable[str], *prefixes: str) -> frozenset[str]:
    """Of paths as ``asked_of`` gives them those that begin with one of ``prefixes``, without that."""
    return frozenset(path[len(one) :] for path in asked for one in prefixes if path.startswith(one))
