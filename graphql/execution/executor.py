"""Execute operations as Strawberry does, but within a size that is counted on the way, and plain fields at once."""

from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, Final, cast

from graphql.pyutils import Path, gather_with_cancel
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from typing_extensions import override

from graphql import (
    ExecutionResult,
    GraphQLError,
    GraphQLInterfaceType,
    GraphQLLeafType,
    GraphQLNonNull,
    GraphQLObjectType,
    Undefined,
)

from ...jobs.core.base.errors import UnreadableRow
from ..base.errors import standing
from ..guard.admission import EventBounds
from ..guard.limits import LimitExceeded, Limits
from ..guard.metered import METER, Meter
from .plain_fields import Known, PlainFields, ReadyField

_NUMBER = 8
"""Bytes that a value counts that is neither text nor a container; few JSON numbers are longer."""
_SHORT: Final = frozenset({int, float, bool, NoneType})
_PLAIN: Final = _SHORT | {str}


class AnswerSize:
    """The size of one answer so far, in characters of its texts and a little for each other value."""

    def __init__(self, most: int) -> None:
        self._left = most
        self.exceeded = False

    def add(self, value: Any) -> bool:  # noqa: ANN401 - any JSON value
        """Count a value; return whether it still fits."""
        if isinstance(value, str):
            self._left -= len(value)
        elif isinstance(value, dict | list):
            self._add_nested(cast("dict[str, object] | list[object]", value))
        else:
            self._left -= _NUMBER
        if self._left < 0:
            self.exceeded = True
        return not self.exceeded

    def _add_nested(self, value: object) -> None:
        pending = [value]
        while pending and self._left >= 0:
            one = pending.pop()
            if isinstance(one, dict):
                found = cast("dict[str, object]", one)
                self._left -= sum(map(len, found))
                pending += found.values()
            elif isinstance(one, list):
                self._add_list(cast("list[object]", one), pending)
            else:
                self._left -= len(one) if isinstance(one, str) else _NUMBER

    def _add_list(self, values: list[object], pending: list[object]) -> None:
        """Count a list; columns of thousands of texts or numbers are counted at once."""
        kinds = set(map(type, values))
        if kinds == {str}:
            self._left -= len("".join(cast("list[str]", values)))
        elif kinds <= _SHORT:
            self._left -= _NUMBER * len(values)
        elif kinds <= _PLAIN:
            self._left -= sum(len(one) if isinstance(one, str) else _NUMBER for one in values)
        else:
            pending += values


ADVICE: Final = "Ask for fewer rows, or for fewer of the long texts."

LIMITS: Final = "cronograph-limits"
"""Under this key of the schema's ``extensions`` its executors find the limits."""

PLAIN_FIELDS: Final = "cronograph-plain-fields"
"""Under this key they find the plain fields, if these are to be answered without graphql-core's ceremony."""

Plan = tuple[tuple[str, Known, Any], ...]
"""The fields of one selection in order: the name in the answer, what is known of it, graphql-core's details."""


BOUNDS: Final = "cronograph-bounds"
"""Under this key of an operation's extensions its executor finds the ``EventBounds``; None = no event has any."""


class OperationExecutor(StrawberryGraphQLCoreExecutionContext):
    """Executes one operation; a subscription once for each of its events.

    graphql-core copies the executor for every event. The copies share a memory of collected sub-fields, by the identity
    of the fields above them; but each collects the root fields again, so that nothing was ever found there again and
    every event left some kilobytes behind until the subscription ended. Here all events begin with the same root
    fields. Which fields are executed depends on the document and the variables only.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as graphql-core calls it
        super().__init__(*args, **kwargs)
        self._root_fields: dict[str, Any] = {}
        self._is_awaitable: Callable[[object], bool] = cast("Any", self).is_awaitable
        limits: Limits = self.schema.extensions.get(LIMITS) or Limits()
        self._answer_bytes = limits.answer_bytes
        self._size = AnswerSize(limits.answer_bytes)
        extensions: Mapping[str, Any] = self.operation_extensions or {}
        self._bounds: EventBounds | None = extensions.get(BOUNDS)
        self._meter: Meter | None = extensions.get(METER)
        self._plain: PlainFields | None = self.schema.extensions.get(PLAIN_FIELDS)
        if self.middleware_manager is not None and self.middleware_manager.middlewares:
            # Somebody wants to see every field.
            self._plain = None
        self._plans: dict[tuple[str, int], tuple[Any, Plan | None]] = {}

    @override
    def execute_operation(self, serially: bool | None = None) -> Any:
        return super().execute_operation(serially) if self._bounds is None else self._execute_event(self._bounds)

    async def _execute_event(self, bounds: EventBounds) -> Any:  # noqa: ANN401 - as graphql-core has it
        async with bounds(self.context_value) as admitted:
            self.context_value = admitted.context
            self._meter = admitted.meter
            return await admitted.meter.of(self._answer_event())

    async def _answer_event(self) -> Any:  # noqa: ANN401 - as graphql-core has it
        result: Any = super().execute_operation(serially=False)
        return await result if self._is_awaitable(result) else result

    @override
    def execute_root_grouped_field_set(
        self,
        root_type: GraphQLObjectType,
        root_value: Any,
        grouped_field_set: Any,
        serially: bool,
        position_context: Any,
    ) -> Any:
        """Execute the root fields that the first event of this operation had; the answer begins."""
        self._size = AnswerSize(self._answer_bytes)
        fields = self._root_fields.setdefault(root_type.name, grouped_field_set)
        return super().execute_root_grouped_field_set(root_type, root_value, fields, serially, position_context)

    @override
    def execute_field(
        self,
        parent_type: GraphQLObjectType,
        source: Any,
        field_details_list: Any,
        path: Path,
        position_context: Any,
    ) -> Any:
        """Execute a field as graphql-core does; one that has to wait may get a task of its own, so it is timed here."""
        value: Any = super().execute_field(parent_type, source, field_details_list, path, position_context)
        return self._meter.of(value) if self._meter is not None and self._is_awaitable(value) else value

    @override
    def execute_fields(
        self,
        parent_type: GraphQLObjectType,
        source_value: Any,
        path: Path | None,
        grouped_field_set: Any,
        position_context: Any,
    ) -> Any:
        """Resolve the fields of one object: plain ones from its attributes, others and all doubt as graphql-core does.

        Fields keep their order, and so do errors: those that cannot be shown at once are left to ``execute_field`` in
        their turn.
        """
        plan = self._plan(parent_type, grouped_field_set)
        if plan is None:
            return super().execute_fields(parent_type, source_value, path, grouped_field_set, position_context)
        if self._size.exceeded:
            return {}
        results: dict[str, Any] = {}
        awaitable: list[str] = []
        try:
            for name, known, details in plan:
                plain = None if isinstance(known, ReadyField) else known
                value = Undefined if plain is None else plain.shown(getattr(source_value, plain.attribute, Undefined))
                if value is Undefined:
                    own = Path(path, name, parent_type.name)
                    value = self._value(parent_type, source_value, known, details, own, position_context)
                    if value is Undefined:
                        continue
                    if self._is_awaitable(value):
                        awaitable.append(name)
                elif value is not None:
                    self._size.add(value)
                results[name] = value
        except Exception:
            if awaitable:
                self.settle_in_background([results[name] for name in awaitable])
            raise
        return _awaited(results, awaitable) if awaitable else results

    def _value(
        self,
        parent: GraphQLObjectType,
        source: Any,  # noqa: ANN401
        known: Known,
        details: Any,  # noqa: ANN401
        path: Path,
        position_context: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Return the answer of a field that is not plain: by the object that is ready, or else as graphql-core does."""
        if isinstance(known, ReadyField):
            held = known.held(source)
            if held is None:
                return None
            if held is not Undefined:
                return self._object(held, known.kind, known.declared, details, path, position_context)
        return self.execute_field(parent, source, details, path, position_context)

    def _plan(self, parent: GraphQLObjectType, fields: Any) -> Plan | None:  # noqa: ANN401 - as graphql-core groups them
        """Return the fields of a selection; None if none of them is plain."""
        # By identity, as graphql-core remembers sub-fields; kept with the plan, so that no other takes its place.
        key = (parent.name, id(fields))
        known = self._plans.get(key)
        if known is None:
            known = self._plans[key] = (fields, self._rebuild_plan(parent, fields))
        return known[1]

    def _rebuild_plan(self, parent: GraphQLObjectType, fields: Any) -> Plan | None:  # noqa: ANN401
        find = self._plain
        if find is None or self.abort_signal is not None:
            return None
        plan = tuple((name, find.find(parent, details[0].node.name.value), details) for name, details in fields.items())
        return plan if any(plain is not None for _, plain, _ in plan) else None

    @override
    def complete_list_item_value(
        self,
        item: Any,
        complete_results: list[Any],
        item_type: Any,
        field_details_list: Any,
        info: Any,
        item_path: Path,
        position_context: Any,
    ) -> bool:
        """Take an item of a list into the answer: an object by its fields at once, all else as graphql-core does."""
        kind: Any = cast("Any", item_type).of_type if isinstance(item_type, GraphQLNonNull) else item_type
        usual = self._plain is not None and type(kind) is GraphQLObjectType and not kind.is_type_of
        if not usual or item is None or isinstance(item, Exception):
            return cast("Any", super()).complete_list_item_value(  # type: ignore[no-any-return]
                item, complete_results, item_type, field_details_list, info, item_path, position_context
            )
        shown = self._object(item, kind, item_type, field_details_list, item_path, position_context)
        complete_results.append(shown)
        return self._is_awaitable(shown)

    @override
    def complete_abstract_value(
        self, return_type: Any, field_details_list: Any, info: Any, path: Path, result: Any, position_context: Any
    ) -> Any:
        """Complete an object of an interface by its class at once, e.g. an event; all else as graphql-core does."""
        plain, is_interface = self._plain, isinstance(return_type, GraphQLInterfaceType)
        kind = plain.kind_of(return_type, result) if plain is not None and is_interface else None
        if kind is None:
            return cast("Any", super()).complete_abstract_value(
                return_type, field_details_list, info, path, result, position_context
            )
        return self.collect_and_execute_subfields(kind, field_details_list, path, result, position_context)

    def _object(
        self,
        source: object,
        kind: GraphQLObjectType,
        declared: Any,  # noqa: ANN401
        details: Any,  # noqa: ANN401
        path: Path,
        position_context: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Return the answer of an object at ``declared`` in the schema; errors are met as graphql-core meets them."""
        try:
            shown = self.collect_and_execute_subfields(kind, details, path, source, position_context)
        except Exception as error:  # noqa: BLE001 - it becomes an error of the answer, or is raised by this
            cast("Any", self).handle_field_error(error, declared, details, path)
            return None
        return self._awaited_item(shown, declared, details, path) if self._is_awaitable(shown) else shown

    async def _awaited_item(self, shown: Any, kind: Any, details: Any, path: Path) -> Any:  # noqa: ANN401
        try:
            return await shown
        except Exception as error:  # noqa: BLE001 - as above
            cast("Any", self).handle_field_error(error, kind, details, path)
            return None

    @override
    def complete_leaf_value(self, return_type: GraphQLLeafType, result: Any) -> Any:  # type: ignore[override]
        """Take a value into the answer, as long as that may grow."""
        if self._size.exceeded:
            # Nobody gets to see the answer: it is only brought to its end.
            return ""
        value = super().complete_leaf_value(return_type, result)
        self._size.add(value)
        return value

    @override
    def build_response(self, data: dict[str, Any] | None) -> Any:
        """Return the answer, or the refusal of one that is too large."""
        if not self._size.exceeded:
            self._name_unreadable()
            return super().build_response(data)
        most = self._answer_bytes
        what = "The answer is too large, in bytes (counting stops there); a mutation has taken effect"
        return ExecutionResult(None, [LimitExceeded("answer_bytes", most, most + 1, what, advice=ADVICE)])

    def _name_unreadable(self) -> None:
        """Say in ``errors`` which rows the lists of this answer leave out."""
        left_out: dict[str, UnreadableRow] | None = getattr(self.context_value, "left_out", None)
        if left_out:
            for fault in left_out.values():
                error = GraphQLError(fault.message, extensions=standing(fault.code.value))
                self.collected_errors.errors.append(error)
            left_out.clear()


async def _awaited(results: dict[str, Any], awaitable: list[str]) -> dict[str, Any]:
    """Return the answer of one object once its awaited fields are there."""
    if len(awaitable) == 1:
        (name,) = awaitable
        results[name] = await results[name]
    else:
        found = await gather_with_cancel(*(results[name] for name in awaitable))
        results.update(zip(awaitable, found, strict=True))
    return results
