"""Make input objects of a client's values; the work for each field is found out once for a type.

Strawberry asks each object for the names and types of its fields: of an input with 1,000 objects
that is half of the work.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass
from typing import Any, cast

import strawberry
from strawberry.schema.name_converter import NameConverter
from strawberry.types.arguments import InputContext
from strawberry.types.base import StrawberryList, StrawberryObjectDefinition, StrawberryOptional
from strawberry.types.field import StrawberryField

from graphql import GraphQLInputObjectType, GraphQLNonNull, GraphQLSchema, is_leaf_type

from ..base.fields import object_behind


@dataclass(frozen=True, slots=True)
class InputField:
    """A field of an input.

    Attributes:
        name: In the API.
        attribute: In Python.
        convert: The type into which its value is still to be converted; None = it is as it comes.
        item: The plan of the objects of a list; None = it is no list of such.
    """

    name: str
    attribute: str
    convert: Any
    item: "InputPlan | None"


class InputPlan:
    """Makes the objects of one input type, in the place of Strawberry."""

    def __init__(self) -> None:
        self.made: type = object
        self._absent: dict[str, None] = {}
        self._fields: tuple[InputField, ...] = ()

    def learn(self, made: type, fields: Iterable[InputField], absent: Iterable[str]) -> None:
        """Set the type to make, its fields, and which of them are None where the client has left them out."""
        self.made, self._fields, self._absent = made, tuple(fields), dict.fromkeys(absent)

    def __call__(self, made: type, given: Mapping[str, Any], context: InputContext) -> object:
        """Return the object of a client's values, which graphql-core has checked."""
        values: dict[str, object] = dict(self._absent)
        for field in self._fields:
            name = field.name
            if name in given:
                value = given[name]
                if value is None or value is strawberry.UNSET or field.convert is None:
                    values[field.attribute] = value
                elif field.item is not None:
                    item = field.item
                    values[field.attribute] = [item(item.made, one, context) for one in value]
                else:
                    values[field.attribute] = context.convert(value, field.convert, name)
        return made(**values)


def plan_inputs(schema: GraphQLSchema, names: NameConverter) -> None:
    """Have the input types of a schema made by plans; those that Strawberry already leaves to others stay theirs."""
    plans: dict[type, InputPlan] = {}
    found: list[tuple[GraphQLInputObjectType, StrawberryObjectDefinition]] = []
    for kind in schema.type_map.values():
        known = object_behind(kind.extensions)
        if not isinstance(kind, GraphQLInputObjectType) or known is None:
            continue
        if known.from_input is None:
            plans[known.origin] = InputPlan()
            found.append((kind, known))
    for kind, known in found:
        plan = plans[known.origin]
        fields = [_field(kind, known, one, names, plans) for one in known.fields]
        absent = (one.python_name for one in known.fields if _has_no_default(one))
        plan.learn(known.origin, fields, absent)
        known.from_input = plan


def _field(
    kind: GraphQLInputObjectType,
    known: StrawberryObjectDefinition,
    field: StrawberryField,
    names: NameConverter,
    plans: Mapping[type, InputPlan],
) -> InputField:
    name = names.from_field(field)
    wrapped: Any = kind.fields[name].type
    plain = is_leaf_type(cast("Any", wrapped).of_type if isinstance(wrapped, GraphQLNonNull) else wrapped)
    convert: Any = field.resolve_type(type_definition=known)
    bare: Any = convert.of_type if isinstance(convert, StrawberryOptional) else convert
    item = plans.get(bare.of_type) if isinstance(bare, StrawberryList) and isinstance(bare.of_type, type) else None
    return InputField(name, field.python_name, None if plain else convert, item)


def _has_no_default(field: StrawberryField) -> bool:
    return field.default_value is MISSING and cast("Any", field).default_factory is MISSING
