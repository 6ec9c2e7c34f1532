"""Builds the Strawberry schema with the guard, the document cache and the masking of errors in place."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, Final, cast

import strawberry
from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from graphql import (
    GraphQLArgument,
    GraphQLError,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    Undefined,
    get_named_type,
)

from ..base.enums import Role
from ..base.errors import mask_all
from ..base.fields import object_behind, rules_of
from ..guard.cost import Guard
from ..guard.document import DocumentStore, Prepared, RequestRefused, check_role
from ..guard.limits import Limits
from ..guard.searches import Searches
from .direct_resolvers import resolve_directly
from .executor import LIMITS, PLAIN_FIELDS, OperationExecutor
from .plain_fields import PlainFields
from .plain_inputs import plan_inputs

RoleOf = Callable[[Any], Role]

PREPARED: Final = "cronograph-prepared"
"""Under this key of an operation's ``operation_extensions`` is what has been prepared already, if anything has."""


class GuardedSchema(strawberry.Schema):
    """A Strawberry schema whose every execution passes the limit guard, no matter who calls it.

    It holds nothing of a server: all servers of a process may serve the same, each in its own thread.

    Attributes:
        limits: The limits in force.
        documents: Parses, guards, validates and caches documents; of those who execute without an engine, which has
            its own.
        rules: The role that a field needs, by the names of type and field.
    """

    def __init__(
        self,
        query: type,
        mutation: type | None = None,
        subscription: type | None = None,
        *,
        limits: Limits,
        types: Iterable[type] = (),
        config: StrawberryConfig | None = None,
        extensions: Iterable[Callable[[], SchemaExtension]] = (),
        role_of: RoleOf = lambda _context: Role.ADMIN,
    ) -> None:
        self.limits = limits
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - generic parameters that Strawberry leaves open
            query,
            mutation,
            subscription,
            types=types,
            config=config,
            extensions=[lambda: PreparedDocument(self.documents, role_of), *extensions],
            execution_context_class=OperationExecutor,
        )
        # Strawberry has no public way to its graphql-core schema; its own extensions read this attribute too.
        self.rules = rules_of(self._schema)
        _drop_null_defaults(self._schema)
        _mark_choices(self._schema)
        _describe_inputs(self._schema)
        self._schema.extensions[LIMITS] = limits
        self._schema.extensions[PLAIN_FIELDS] = PlainFields(self._schema)
        plan_inputs(self._schema, self.config.name_converter)
        resolve_directly(self._schema, self.config)
        self._guard = Guard(self._schema, limits)
        self.documents = self.new_documents()

    def new_documents(self) -> DocumentStore:
        """Return an empty cache of documents for this schema."""
        return DocumentStore(self._guard, self.rules)

    @cached_property
    def sdl(self) -> str:
        """The schema definition, put together when it is first asked for."""
        return self.as_str()

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Mask and log the errors of a result in place: Strawberry logs every one with a traceback otherwise."""
        name = execution_context.operation_name if execution_context else None
        errors[:] = mask_all(errors, name)


def _drop_null_defaults(schema: GraphQLSchema) -> None:
    """Remove the explicit defaults ``null``, which Python's ``= None`` becomes: the resolver has its own default."""
    for kind in schema.type_map.values():
        given: list[GraphQLArgument | GraphQLInputField] = []
        if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
            given = [one for field in kind.fields.values() for one in field.args.values()]
        elif isinstance(kind, GraphQLInputObjectType):
            given = list(kind.fields.values())
        for one in given:
            if one.default_value is None:
                one.default_value = Undefined


def _mark_choices(schema: GraphQLSchema) -> None:
    """Tell graphql-core which inputs are `@oneOf`, so that it judges documents and variables by that."""
    for kind in schema.type_map.values():
        known = object_behind(kind.extensions)
        if isinstance(kind, GraphQLInputObjectType) and known is not None:
            kind.is_one_of = known.is_one_of


def _describe_inputs(schema: GraphQLSchema) -> None:
    """Describe the only argument of a mutation as its type is described."""
    root = schema.mutation_type
    for field in () if root is None else root.fields.values():
        given = field.args.get("input")
        if given is not None:
            kind = cast("GraphQLNamedType", get_named_type(given.type))
            given.description = kind.description


class PreparedDocument(SchemaExtension):
    """Hands the cached, guarded and validated document to Strawberry, and reports its cost in ``extensions.cost``."""

    def __init__(self, documents: DocumentStore, role_of: RoleOf) -> None:
        super().__init__()
        self._documents = documents
        self._role_of = role_of
        self._prepared: Prepared | None = None
        self._reported = False

    def on_parse(self) -> Iterator[None]:
        """Prepare the operation in place of Strawberry's parser and validation; a refusal ends it."""
        context = self.execution_context
        prepared: Prepared = (context.operation_extensions or {}).get(PREPARED) or self._prepare()
        self._prepared = prepared
        # Here and nowhere else: no matter what brought the operation comes by.
        check_role(self._role_of(context.context), prepared.requirements)
        context.graphql_document = prepared.document.ast
        # To Strawberry an empty list means that validation has been done.
        context.pre_execution_errors = []
        yield

    def _prepare(self) -> Prepared:
        context = self.execution_context
        try:
            return self._documents.prepare(context.query or "", context.variables, context.operation_name)
        except RequestRefused as refused:
            raise refused.errors[0] from None

    def get_results(self) -> dict[str, Any]:
        """Return the cost, and the report of the searches; for a subscription with its first result only."""
        if self._prepared is None or self._reported:
            return {}
        self._reported = self._prepared.is_subscription
        found: Any = getattr(self.execution_context.context, "searches", None)
        searches: Searches | None = found
        requested = self._prepared.measure.cost + (0 if searches is None else searches.requested)
        further = {} if searches is None else searches.report()
        return {"cost": {"requested": requested, "maximum": self._documents.limits.cost, **further}}


def build_schema(
    query: type,
    mutation: type | None = None,
    subscription: type | None = None,
    *,
    limits: Limits | None = None,
    types: Iterable[type] = (),
    config: StrawberryConfig | None = None,
    extensions: Iterable[Callable[[], SchemaExtension]] = (),
    role_of: RoleOf = lambda _context: Role.ADMIN,
) -> GuardedSchema:
    """Return a schema ready to be served.

    Args:
        query: Root type of queries, decorated by ``strawberry.type``.
        mutation: Root type of mutations.
        subscription: Root type of subscriptions.
        limits: Limits of documents; the defaults of ``Limits`` unless given.
        types: Further types that no field refers to directly.
        config: Strawberry's configuration (scalar map, name converter).
        extensions: Factories of further extensions, one call per operation.
        role_of: Returns the role of a context's owner; everything unless given.
    """
    return GuardedSchema(
        query,
        mutation,
        subscription,
        limits=limits or Limits(),
        types=types,
        config=config,
        extensions=extensions,
        role_of=role_of,
    )
