"""Show stored values field by field: of a whole model, or of those columns of its row that were read.

A page has hundreds of tasks, runs or executions with up to forty fields each, of which a few are asked for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import cache
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeAlias, cast

import strawberry
from strawberry.types.field import StrawberryField

from ..base.scalars import camel

NO_FIELD: Final = "__typename"
READY: Final = "ready_"
"""With this in front of its name an object holds the value of a field that has a resolver, if it is a value."""

_KEYS: Final = (strawberry.ID, strawberry.ID | None)


@dataclass(frozen=True, slots=True)
class Made:
    """A field that is made of columns.

    Attributes:
        of: Their names in the model.
        by: Makes it of their values.
    """

    of: tuple[str, ...]
    by: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Ready(Made):
    """A field with a resolver, whose value an object of single columns holds already.

    Attributes:
        of: The columns that it is made of, of the row or those that the list may have besides.
        by: Makes it of their values; ``Undefined`` = its resolver is to be asked.
        below: The fields that may be asked of its object; others are read by its resolver, of a whole row.
        needs: The fields that its resolver asks of the object that it belongs to, by their names in the schema.
    """

    below: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()


Whole: TypeAlias = Callable[[Any], Any]
"""Makes a field of the whole model."""

Makers: TypeAlias = Mapping[str, Whole]
"""Makers of some fields, by their names."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Hold the columns that are read for some fields.

    Attributes:
        show: The object that shows a row of their values.
    """

    columns: tuple[str, ...]
    show: Callable[[Sequence[Any]], Any]


class Fields:
    """The fields of a type of which each row of a table is one; fields with the same name on both sides are not listed.

    Args:
        kind: The type; a ``ByField``.
        prefix: The attribute of the model in which attributes it lacks are looked up.
        columns: The columns that have another name than their attribute.
        made: The fields that are no mere attributes, by their names.
    """

    def __init__(
        self,
        kind: type[Any],
        source: type[Any],
        *,
        prefix: str = "",
        columns: Mapping[str, str] | None = None,
        made: Mapping[str, Made | Whole] | None = None,
    ) -> None:
        self._prefix, self._source = prefix, source
        self._renamed: Mapping[str, str] = columns or {}
        self._made: dict[str, Made | Whole] = {}
        for field in fields(kind):
            if field.init and field.name != "stored":
                found = (made or {}).get(field.name)
                self._made[field.name] = found or Made((field.name,), key_text if is_key(field) else same)
        self.readers: Final[Mapping[str, Whole]] = {name: self._reader(made) for name, made in self._made.items()}
        """Each field of a whole model, by its name."""
        named = {field.name: field.graphql_name for field in fields(kind) if isinstance(field, StrawberryField)}
        self.names: Final[Mapping[str, str]] = {named.get(name) or camel(name): name for name in self._made}
        """The name of each field in Python, by its name in the schema."""
        self.ready: Mapping[str, tuple[str, Ready]] = {}
        """Fields with resolvers that may be ready, each with the attribute of its value, by its name in the schema."""

    def with_ready(self, ready: Mapping[str, Ready]) -> "Fields":
        """Return the same fields and some with resolvers, by their names in Python."""
        more = copy(self)
        more.ready = {camel(name): (name if one.below else READY + name, one) for name, one in ready.items()}
        return more

    def _field(self, asked: str) -> "tuple[str, Made | Whole | None]":
        name = self.names.get(asked, "")
        return name, self._made.get(name)

    def _reader(self, made: Made | Whole) -> Whole:
        if not isinstance(made, Made):
            return made
        paths = [one if hasattr(self._source, one) else f"{self._prefix}.{one}" for one in made.of]
        read, by = attrgetter(*paths) if paths else _nothing, made.by
        if by is same:
            return read
        return (lambda stored: by(read(stored))) if len(paths) == 1 else (lambda stored: by(*read(stored)))

    def cut(self, kind: type[Any], asked: Iterable[str]) -> Cut | None:
        """Return the columns to read when only these fields of ``kind`` are selected.

        Args:
            kind: The type to make.
            asked: Their names in the schema, and paths to the fields below them, e.g. ``progress`` and
                ``progress.done``.

        Returns:
            None if the whole row is to be read: a field is no matter of single columns.
        """
        names = self._needed(set(asked))
        if names is None:
            return None
        # The key is always there: lists are ordered by it.
        columns, plain = {"id": 0}, dict[str, str]()
        further = list[tuple[str, tuple[str, ...], Callable[..., Any]]]()
        for one in sorted(names - {NO_FIELD}):
            name, made = self.ready[one] if one in self.ready else self._field(one)
            if not isinstance(made, Made):
                return None
            needed = tuple(self._renamed.get(attribute, attribute) for attribute in made.of)
            for column in needed:
                columns.setdefault(column, len(columns))
            if made.by is same:
                plain[name] = needed[0]
            else:
                further.append((name, needed, made.by))
        if len(columns) == 1:
            # A list gives two columns at least.
            columns["job_name"] = 1
        return _cut(kind, columns, plain, further)

    def _needed(self, asked: set[str]) -> set[str] | None:
        """Return the names of the fields that are read; None = more is asked of one than it holds."""
        names = {path for path in asked if "." not in path}
        for one in names & self.ready.keys():
            _, ready = self.ready[one]
            if any(path.partition(".")[2] not in ready.below for path in asked if path.startswith(f"{one}.")):
                return None
            names |= ready.needs
        return names


def _cut(
    kind: type[Any],
    columns: dict[str, int],
    plain: dict[str, str],
    further: list[tuple[str, tuple[str, ...], Callable[..., Any]]],
) -> Cut:
    # What is shown as it is stands first, so that one update of the object takes all of it.
    order = (*plain.values(), *(column for column in columns if column not in plain.values()))
    names = tuple(plain)
    made = [(name, _places(order, needed), by) for name, needed, by in further]
    any_kind: Any = kind
    create: Callable[[type[Any]], Any] = any_kind.__new__

    def show(row: Sequence[Any]) -> Any:  # noqa: ANN401 - an object of ``kind``
        shown = create(kind)
        held: dict[str, Any] = shown.__dict__
        held.update(zip(names, row))  # noqa: B905 - the names are those of the first columns
        for name, values, by in made:
            held[name] = by(*values(row))
        return shown

    return Cut(order, show)


def _places(order: Sequence[str], needed: Sequence[str]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    places = [order.index(column) for column in needed]
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1)) if places else itemgetter(slice(0, 0))


def same(value: Any) -> Any:  # noqa: ANN401 - anything a column holds
    """Return the value itself."""
    return value


def key_text(value: object) -> str | None:
    """Return a key as the API writes it."""
    return None if value is None else str(value)


def is_key(field: Any) -> bool:  # noqa: ANN401 - Strawberry's fields know more than those of dataclasses
    """Return whether a field of a type holds a key."""
    annotation: object = field.type_annotation.annotation if hasattr(field, "type_annotation") else field.type
    return annotation in _KEYS


def _nothing(_stored: object) -> tuple[()]:
    return ()


class FromModel:
    """Base of a type whose objects show a value of the engine, ``stored``: a field is read of it when it is asked for.

    Attributes:
        MADE: The fields that are no mere attributes of the value, by their names.
        PREFIX: The attribute of the value in which attributes it lacks are looked up.
    """

    MADE: ClassVar[Makers] = {}
    PREFIX: ClassVar[str] = ""

    @classmethod
    def from_model(cls, stored: Any, /, **made: object) -> Self:  # noqa: ANN401 - each type shows another
        """Return the object of a value; ``made`` are fields that it does not tell."""
        shown = cls.__new__(cls)
        vars(shown).update(made, stored=stored)
        return shown

    if not TYPE_CHECKING:
        # Type checkers are to know the fields of each type, and no others.
        def __getattr__(self, name: str) -> Any:  # noqa: ANN401
            """Return a field of the value, when it is asked for."""
            stored = vars(self).get("stored", self)
            read = None if stored is self else self._readers(type(stored)).get(name)
            if read is None:
                raise AttributeError(f"{type(self).__name__} has no {name!r} here", name=name, obj=self)
            return read(stored)

    @classmethod
    def _readers(cls, source: type[Any]) -> Mapping[str, Whole]:
        return _readers_of(cast("Any", cls), cast("Any", source))


@cache
def _readers_of(kind: type[FromModel], source: type[Any]) -> Mapping[str, Whole]:
    return Fields(kind, source, prefix=kind.PREFIX, made=kind.MADE).readers


class ByField(FromModel):
    """Base of a type whose objects have either the model, as ``stored``, or the fields that were asked for.

    Attributes:
        FIELDS: Those that a model is shown by.
    """

    FIELDS: ClassVar[Fields]

    @classmethod
    def _readers(cls, source: type[Any]) -> Mapping[str, Whole]:  # noqa: ARG003 - its fields know it
        return cls.FIELDS.readers
