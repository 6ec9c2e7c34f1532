"""Find the plain fields: an attribute of the object, of a leaf type, without arguments and without code of ours.

And which may be ready: objects that were put into the object together with its other values.

graphql-core spends about five microseconds on any field: a path, an info object, a resolver that calls
another, checks of its answer. Of a plain field all that is known beforehand, once for a schema.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from math import isfinite
from types import MappingProxyType, NoneType
from typing import Any, Final, TypeAlias, cast

from graphql import (
    GraphQLBoolean,
    GraphQLEnumType,
    GraphQLFloat,
    GraphQLID,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLString,
    Undefined,
    is_leaf_type,
)

from ..base.fields import field_behind, object_behind
from ..base.scalars import MAX_EXACT, serialize_bigint
from .shown import READY

SAME: Final[Mapping[object, type]] = {GraphQLString: str, GraphQLID: str, GraphQLBoolean: bool}
"""Values of exactly this Python type are in the answer as they are."""

SAME_OF_OURS: Final[Mapping[str, type]] = {"BigInt": int, "DateTime": str, "Duration": float}
"""The same for scalars of ours, by name: a text is a time that the database has written. Of whole numbers that holds as
long as JavaScript can read them."""

USUAL: Final = frozenset({str, int, float, bool, datetime, dict, list})
"""Of these exact types a value cannot be an error, nor something to wait for."""


NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PlainField:
    """A plain field.

    Attributes:
        same: Values of exactly this type are answered as they are; None = there is no such type.
        coerce: Turns another value into that of the answer; raises an error if it cannot.
        names: The names of the members of an enum in the answer.
        nullable: Whether there may be no value.
    """

    attribute: str
    same: type | None
    coerce: Callable[[Any], Any]
    names: Mapping[object, str]
    nullable: bool

    def shown(self, value: object) -> object:
        """Return the value as the answer shows it; ``Undefined`` leaves it to graphql-core."""
        kind = type(value)
        if kind is self.same:
            return serialize_bigint(cast("int", value)) if kind is int else value
        if value is None:
            return None if self.nullable else Undefined
        if kind not in USUAL:
            return self.names.get(value, Undefined) if isinstance(value, Enum) else Undefined
        try:
            shown = self.coerce(value)
        except Exception:  # noqa: BLE001 - the ordinary way meets it again, and says where
            return Undefined
        return Undefined if shown is None else shown


@dataclass(frozen=True, slots=True)
class ReadyField:
    """A field of an object type: its value may be there already, by the arguments that the document has for it.

    Attributes:
        attribute: Where its value is then, among the object's own attributes, also if its class has a resolver there.
        kind: Its type, without the mark for never null.
        made_by: The class of its values.
    """

    attribute: str
    kind: GraphQLObjectType
    declared: Any
    made_by: type

    def held(self, source: object) -> object:
        """Return the value that an object holds; ``Undefined`` = that is to be found out in the ordinary way."""
        held = getattr(source, "__dict__", NOTHING).get(self.attribute, Undefined)
        if isinstance(held, self.made_by):
            return held
        return None if held is None and self.declared is self.kind else Undefined


@dataclass(frozen=True, slots=True)
class PlainColumn:
    """A plain field whose value is a list of leaves.

    Attributes:
        item: How each of its values is shown.
        kept: Of these types finite numbers are in the answer as they are; None = of none.
    """

    attribute: str
    item: PlainField
    kept: frozenset[type] | None = None

    def shown(self, values: object) -> object:
        """Return the list as the answer shows it; ``Undefined`` leaves it to graphql-core."""
        if type(values) is not list:
            return Undefined
        column = cast("list[object]", values)
        kinds = set(map(type, column))
        if kinds == {self.item.same}:
            if int in kinds and not (
                -MAX_EXACT <= min(cast("list[int]", column)) <= max(cast("list[int]", column)) <= MAX_EXACT
            ):
                return list(map(serialize_bigint, cast("list[int]", column)))
            return column
        if (
            self.kept is not None
            and kinds <= self.kept
            and all(map(isfinite, cast("list[float]", filter(None, column))))
        ):
            return column
        show = self.item.shown
        if self.item.names and USUAL.isdisjoint(kinds):
            # Of the members of an enum there are few, however long the column is.
            each = {value: show(value) for value in set(column)}
            found = [each[value] for value in column]
        else:
            found = [show(value) for value in column]
        return Undefined if type(Undefined) in set(map(type, found)) else found


Known: TypeAlias = PlainField | PlainColumn | ReadyField | None
"""Knowledge about a field."""


class PlainFields:
    """Finds the plain and the ready fields of a schema, and remembers them."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        self._found: dict[tuple[str, str], Known] = {}
        self._kinds: dict[tuple[str, type], GraphQLObjectType | None] = {}

    def find(self, parent: GraphQLObjectType, name: str) -> Known:
        """Return the field ``name`` of a type if it is plain, or may be ready."""
        key = (parent.name, name)
        try:
            return self._found[key]
        except KeyError:
            found = self._found[key] = self._look(parent, name)
            return found

    def kind_of(self, interface: GraphQLInterfaceType, made: object) -> GraphQLObjectType | None:
        """Return the type of an interface whose objects are of the class of this one; None if there is no such type."""
        made_by = type(made)
        key = (interface.name, made_by)
        if key not in self._kinds:
            kinds = self._schema.get_implementations(interface).objects
            origins = ((one, object_behind(one.extensions)) for one in kinds)
            self._kinds[key] = next((one for one, known in origins if known and known.origin is made_by), None)
        return self._kinds[key]

    def _look(self, parent: GraphQLObjectType, name: str) -> Known:
        field = self._schema.get_field(parent, name)
        known = None if field is None else field_behind(field.extensions)
        if field is None or known is None:
            return None
        kind: object = cast("Any", field).type
        nullable = not isinstance(kind, GraphQLNonNull)
        leaf: object = kind if nullable else cast("Any", kind).of_type
        if isinstance(leaf, GraphQLObjectType) and not (known.extensions or known.permission_classes):
            made_by = class_of(leaf)
            return None if made_by is None else ReadyField(known.python_name, leaf, kind, made_by)
        if field.args:
            return None
        if not known.is_basic_field or known.default_resolver is not getattr:
            usual = not (known.is_basic_field or known.extensions or known.permission_classes)
            # Its resolver is asked where the object does not hold its value.
            return _plain(READY + known.python_name, kind) if usual else None
        if isinstance(leaf, GraphQLList):
            item = _plain(known.python_name, cast("Any", leaf).of_type)
            return None if item is None else PlainColumn(known.python_name, item, _kept(cast("Any", leaf).of_type))
        return _plain(known.python_name, kind)


def _plain(attribute: str, kind: Any) -> PlainField | None:  # noqa: ANN401 - any type of the schema
    """Return the plan for values of a type; None if it is not a leaf."""
    nullable = not isinstance(kind, GraphQLNonNull)
    leaf: Any = kind if nullable else cast("Any", kind).of_type
    if not is_leaf_type(leaf):
        return None
    names = _names(leaf) if isinstance(leaf, GraphQLEnumType) else {}
    same = SAME.get(leaf) or SAME_OF_OURS.get(leaf.name)
    return PlainField(attribute, same, leaf.coerce_output_value, names, nullable)


def _kept(kind: Any) -> frozenset[type] | None:  # noqa: ANN401 - any type of the schema
    required = isinstance(kind, GraphQLNonNull)
    leaf: Any = cast("Any", kind).of_type if required else kind
    if leaf is not GraphQLFloat and leaf.name != "Duration":
        return None
    return frozenset({float}) if required else frozenset({float, NoneType})


def class_of(kind: GraphQLObjectType) -> type | None:
    """Return the class whose objects a type shows; None if that is to be found out for each object."""
    known = object_behind(kind.extensions)
    return known.origin if known is not None and not kind.is_type_of else None


def _names(leaf: GraphQLEnumType) -> dict[object, str]:
    members = (value.value for value in leaf.values.values())
    return {member: leaf.coerce_output_value(member) for member in members}
