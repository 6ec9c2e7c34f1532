"""From the text of a document to an operation that may run: bracket scan, parser, limit guard, validation, caches.

Everything here is done once per document text; only the guard runs again when a page size comes from a variable.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from graphql.validation.rules import overlapping_fields_can_be_merged as overlapping
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from graphql import (
    ASTValidationRule,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    OperationType,
    SelectionNode,
    SelectionSetNode,
    get_named_type,
    parse,
    specified_rules,
    validate,
)

from ...jobs.core.actor import Role
from ..base.errors import UserFacingError, coded, shorten
from .cost import Guard, Measure
from .limits import LimitExceeded, Limits
from .walk import INTROSPECTION_ROOTS


@dataclass(frozen=True, slots=True)
class Requirement:
    """A field that an operation uses, by name, and the role it needs."""

    field: str
    role: Role


def requirements_of(
    schema: GraphQLSchema,
    rules: Mapping[tuple[str, str], Role],
    document: DocumentNode,
    operation: OperationDefinitionNode,
) -> tuple[Requirement, ...]:
    """Return the requirements of an operation of a validated document, each once.

    Fields behind ``@skip`` and ``@include`` count too: the requirements of a document do not depend on its variables.
    """
    walk = _Walk(schema, rules, document)
    root = schema.get_root_type(operation.operation)
    if root is not None:
        walk.selections(root, operation.selection_set)
    return tuple(dict.fromkeys(walk.found))


def check_role(role: Role, requirements: tuple[Requirement, ...]) -> None:
    """Refuse an operation that asks for more than a role may do; nothing of it runs then.

    Raises:
        UserFacingError: ``FORBIDDEN``, naming the field and the role it needs.
    """
    for requirement in requirements:
        if not role.includes(requirement.role):
            needed = requirement.role.name
            raise UserFacingError(
                f"'{requirement.field}' needs the role {needed}, and you have the role {role.name} here.",
                code="FORBIDDEN",
                http_status=403,
                extensions={"field": requirement.field, "requiredRole": needed, "role": role.name},
            )


class _Walk:
    """Visits every selection set once for each type, however often a fragment is used."""

    def __init__(self, schema: GraphQLSchema, rules: Mapping[tuple[str, str], Role], document: DocumentNode) -> None:
        self.found: list[Requirement] = []
        self._schema = schema
        self._rules = rules
        self._fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        self._seen: set[tuple[str, str]] = set()

    def selections(self, parent: GraphQLObjectType, selection_set: SelectionSetNode) -> None:
        """Visit the selections of a type."""
        waiting = [(parent, selection_set)]
        while waiting:
            kind, selected = waiting.pop()
            for one in self._fields(kind, selected):
                name = one.name.value
                rule = self._rules.get((kind.name, name))
                if rule is not None:
                    self.found.append(Requirement(name, rule))
                definition: Any = kind.fields.get(name)
                below = None if definition is None else cast("object", get_named_type(definition.type))
                if one.selection_set is not None and isinstance(below, GraphQLObjectType):
                    waiting.append((below, one.selection_set))

    def _fields(self, kind: GraphQLObjectType, selected: SelectionSetNode) -> Iterator[FieldNode]:
        nodes: list[SelectionNode] = list(selected.selections)
        while nodes:
            node = nodes.pop()
            if isinstance(node, FieldNode):
                yield node
                continue
            if isinstance(node, FragmentSpreadNode):
                key = (kind.name, node.name.value)
                fragment = self._fragments.get(node.name.value)
                if key in self._seen or fragment is None:
                    continue
                self._seen.add(key)
                nodes.extend(fragment.selection_set.selections)
            elif isinstance(node, InlineFragmentNode):
                nodes.extend(node.selection_set.selections)


RULES: Final[tuple[type[ASTValidationRule], ...]] = (
    *specified_rules,
    MaybeNullValidationRule,
    # graphql-core overlooks a nullable variable below a selection that is required.
    OneOfInputValidationRule,
)
"""The validation rules, put together once: Strawberry's default builds the tuple for every request."""

MERGING: Final = 50_000
"""Work that graphql-core may do to see whether fields of one response name can be merged; two units are a pair.

Its own default lets a few kilobytes of repeated fields take a second of processor time. There is one for all schemas of
a process, read whenever a validation begins.
"""

overlapping.MAX_COMPLEXITY_BUDGET = MERGING

SCAN: Final = re.compile(
    r'"""(?:\\"""|[^"]|"(?!""))*"""'  # block string
    r'|"(?:\\.|[^"\\\n\r])*"'  # string
    r"|#[^\n\r]*"  # comment
    r"|[\[\]{}()]"
    r"|(?<![A-Za-z0-9_])\d+"
)
"""Finds brackets and numbers outside of strings and comments."""


class RequestRefused(Exception):  # noqa: N818 - a decision, not a fault
    """A request that will not be executed, with the errors for the client.

    Attributes:
        errors: At least one error, each with ``extensions.code``.
    """

    def __init__(self, errors: Sequence[GraphQLError]) -> None:
        super().__init__("; ".join(error.message for error in errors))
        self.errors = list(errors)


@dataclass(slots=True)
class Document:
    """A parsed and validated document.

    Attributes:
        ast: Its syntax tree.
        errors: The errors of validation, empty when it may run; None until validated.
        measures: Guard results that hold for any variables, by operation name.
        requirements: Which roles the operations need, by operation name.
    """

    text: str
    ast: DocumentNode
    errors: list[GraphQLError] | None = None
    measures: dict[str | None, Measure] = field(default_factory=dict[str | None, Measure])
    requirements: dict[str | None, tuple[Requirement, ...]] = field(
        default_factory=dict[str | None, tuple[Requirement, ...]]
    )


@dataclass(frozen=True, slots=True)
class Prepared:
    """An operation that passed every check and may be executed.

    Attributes:
        operation: Its syntax node.
        operation_name: The name as requested, None when the document has one operation.
        variables: Raw variable values.
        requirements: The roles it needs.
    """

    document: Document
    operation: OperationDefinitionNode
    operation_name: str | None
    variables: dict[str, Any]
    measure: Measure
    requirements: tuple[Requirement, ...] = ()

    @property
    def root_field(self) -> str | None:
        """The first field that it asks for; None where it begins with a fragment."""
        first = self.operation.selection_set.selections[0]
        return first.name.value if isinstance(first, FieldNode) else None

    @property
    def is_introspection(self) -> bool:
        """Return whether it asks for the schema alone: then its answer follows from the document."""
        if self.operation.operation is not OperationType.QUERY or self.operation.variable_definitions:
            return False
        roots = self.operation.selection_set.selections
        return all(isinstance(root, FieldNode) and root.name.value in INTROSPECTION_ROOTS for root in roots)

    @property
    def is_subscription(self) -> bool:
        """Return whether it yields a stream of results."""
        return self.operation.operation is OperationType.SUBSCRIPTION


class DocumentStore:
    """Prepares operations and keeps valid documents, least recently used out first.

    Of others only the errors are kept, apart, so that nonsense cannot push out the documents of real clients. The size
    is counted in syntax nodes: these cost the memory. Trusted documents are kept for ever and do not count.
    """

    def __init__(self, guard: Guard, rules: Mapping[tuple[str, str], Role]) -> None:
        """Start without documents; ``rules`` are the roles that fields need, by the names of type and field."""
        self.rules = rules
        self.schema = guard.schema
        self.limits = guard.limits
        self.guard = guard
        self._documents: OrderedDict[str, tuple[Document, int]] = OrderedDict()
        self._nodes = 0
        self._trusted: dict[str, Document | None] = {}
        self._refused = Refusals()

    def trust(self, texts: Iterable[str]) -> None:
        """Keep these documents for ever, each once it has been asked for."""
        self._trusted.update(dict.fromkeys(texts))

    def knows(self, text: str) -> bool:
        """Return whether checking a document again costs next to nothing."""
        return text in self._documents or text in self._refused or self._trusted.get(text) is not None

    def prepare(self, text: str, variables: Mapping[str, Any] | None, operation_name: str | None) -> Prepared:
        """Check an operation against syntax, limits and schema.

        Args:
            variables: Raw variable values, not yet coerced.
            operation_name: Which operation to run; may be None when there is only one.

        Raises:
            RequestRefused: with every error found; each has a code (``SYNTAX_ERROR``, ``LIMIT_…``,
                ``VALIDATION_ERROR``, ``UNKNOWN_OPERATION``).
        """
        refused = self._refused.find(text)
        if refused:
            raise RequestRefused(refused)
        values = dict(variables or {})
        document = self.load(text)
        operation = _choose(document.ast, operation_name, self.limits)
        weights = self.guard.weigh(operation, values)
        measure = None if weights else document.measures.get(operation_name)
        if measure is None:
            try:
                measure = self.guard.check(document.ast, operation, values, weights)
            except LimitExceeded as error:
                raise RequestRefused([shorten(error, self.limits.error_characters)]) from None
        self._validate(document)
        self._remember(document, operation_name, measure)
        requirements = self._requirements(document, operation, operation_name)
        return Prepared(document, operation, operation_name, values, measure, requirements)

    def _requirements(
        self, document: Document, operation: OperationDefinitionNode, name: str | None
    ) -> tuple[Requirement, ...]:
        known = document.requirements.get(name)
        if known is None:
            known = requirements_of(self.schema, self.rules, document.ast, operation)
            document.requirements[name] = known
        return known

    def load(self, text: str) -> Document:
        """Return the parsed document, from the cache if it is known; not yet validated otherwise.

        Raises:
            RequestRefused: too long, too many tokens, nested too deeply, or no GraphQL.
        """
        trusted = self._trusted.get(text)
        if trusted is not None:
            return trusted
        entry = self._documents.get(text)
        if entry is not None:
            self._documents.move_to_end(text)
            return entry[0]
        try:
            return Document(text, _parse(text, self.limits))
        except LimitExceeded as error:
            raise self._refuse(text, [error]) from None
        except GraphQLError as error:
            fault = coded(shorten(error, self.limits.error_characters), "SYNTAX_ERROR")
            raise self._refuse(text, [fault]) from None

    def _validate(self, document: Document) -> None:
        if document.errors is None:
            document.errors = self._faults(document.ast)
        if document.errors:
            raise self._refuse(document.text, document.errors)

    def _refuse(self, text: str, errors: list[GraphQLError]) -> RequestRefused:
        self._refused.remember(text, errors)
        return RequestRefused(errors)

    def _faults(self, ast: DocumentNode) -> list[GraphQLError]:
        faults = validate(self.schema, ast, RULES, max_errors=self.limits.errors)
        return [self._validation_error(error) for error in faults]

    def _validation_error(self, error: GraphQLError) -> GraphQLError:
        if error.message == "Validation aborted.":
            # graphql-core bounds the work of its rules by itself, but does not say so.
            message = "The document takes too much work to validate: it repeats fields or fragments too often."
            return UserFacingError(message, code="LIMIT_VALIDATION")
        if error.message == "Maximum introspection depth exceeded":
            message = "The lists of '__Type' are nested too deeply: the limit of introspection is 3 (fields of fields)."
            return UserFacingError(message, code="LIMIT_INTROSPECTION_LISTS")
        return coded(shorten(error, self.limits.error_characters), "VALIDATION_ERROR")

    def _remember(self, document: Document, operation_name: str | None, measure: Measure) -> None:
        if measure.reusable:
            document.measures[operation_name] = measure
        if document.text in self._trusted:
            self._trusted[document.text] = document
            return
        if document.text in self._documents:
            return
        # The guard counts fields and arguments; names, values and types triple that.
        nodes = 3 * measure.visits
        self._documents[document.text] = (document, nodes)
        self._nodes += nodes
        while self._nodes > self.limits.cached_nodes and len(self._documents) > 1:
            _, (_, evicted) = self._documents.popitem(last=False)
            self._nodes -= evicted


def _parse(text: str, limits: Limits) -> DocumentNode:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > limits.document_bytes:
        raise LimitExceeded("document_bytes", limits.document_bytes, size, "The document is too long, in bytes")
    _scan(text, limits)
    try:
        return parse(text, max_lexical_tokens=limits.tokens, max_comments=limits.tokens)
    except GraphQLError as error:
        if error.message.startswith("Syntax Error: Document contains more than"):
            raise LimitExceeded(
                "tokens", limits.tokens, limits.tokens + 1, "The document has too many tokens (counting stops there)"
            ) from None
        raise


def _scan(text: str, limits: Limits) -> None:
    """Bound the nesting of brackets before the recursive-descent parser sees them, and the length of numbers."""
    level = deepest = 0
    for match in SCAN.finditer(text):
        found = match.group()
        if found in "([{":
            level += 1
            deepest = max(deepest, level)
        elif found in ")]}":
            level -= 1
        elif len(found) > limits.number_digits and found.isdigit():
            what = "A number of the document has too many digits"
            raise LimitExceeded("number_digits", limits.number_digits, len(found), what)
    if deepest > limits.nesting:
        what = "The brackets of the document are nested too deeply"
        raise LimitExceeded("nesting", limits.nesting, deepest, what)


def _choose(ast: DocumentNode, name: str | None, limits: Limits) -> OperationDefinitionNode:
    operations = [node for node in ast.definitions if isinstance(node, OperationDefinitionNode)]
    names = ", ".join(node.name.value for node in operations if node.name)[: limits.error_characters // 2]
    if name is None:
        if len(operations) == 1:
            return operations[0]
        message = (
            f"The document has {len(operations)} operations; name the one to run in 'operationName' (one of: {names})."
            if operations
            else "The document has no operation; it needs a query, a mutation or a subscription."
        )
        raise RequestRefused([UserFacingError(message, code="UNKNOWN_OPERATION")])
    for node in operations:
        if node.name and node.name.value == name:
            return node
    message = f"The document has no operation named '{name[:100]}'; it has: {names or 'only an unnamed one'}."
    raise RequestRefused([UserFacingError(message, code="UNKNOWN_OPERATION")])


DOCUMENTS: Final = 500
"""So many are remembered."""
CHARACTERS: Final = 1_000_000
"""So many characters they have together, messages included."""


class Refusals:
    """The errors of the documents refused last."""

    def __init__(self) -> None:
        """Start with none."""
        self._known: OrderedDict[str, tuple[list[GraphQLError], int]] = OrderedDict()
        self._characters = 0

    def __contains__(self, text: str) -> bool:
        """Return whether a document is known to be refused."""
        return text in self._known

    def find(self, text: str) -> list[GraphQLError]:
        """Return the reasons for which a document is refused; empty if they are not known."""
        known = self._known.get(text)
        if known is None:
            return []
        self._known.move_to_end(text)
        return known[0]

    def remember(self, text: str, errors: Sequence[GraphQLError]) -> None:
        """Note why a document is refused, without its syntax tree."""
        if text in self._known:
            return
        kept = [_bare(error) for error in errors]
        characters = len(text) + sum(len(error.message) for error in kept)
        self._known[text] = (kept, characters)
        self._characters += characters
        while len(self._known) > DOCUMENTS or (self._characters > CHARACTERS and len(self._known) > 1):
            _, (_, forgotten) = self._known.popitem(last=False)
            self._characters -= forgotten


def _bare(error: GraphQLError) -> GraphQLError:
    bare = GraphQLError(error.message, extensions=error.extensions)
    bare.locations = error.locations
    return bare
