"""How operations are executed: as Strawberry does, but within a size, and fields of subscriptions are found once."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeAlias

from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from typing_extensions import override

from graphql import ExecutionResult, GraphQLLeafType, GraphQLObjectType

from .guard.answer import AnswerSize
from .guard.limits import LimitExceeded, Limits

ADVICE: Final = "Ask for fewer rows, or for fewer of the long texts."

LIMITS: Final = "cronograph-limits"
"""Under this key of the schema's ``extensions`` its executors find the limits."""

EventBounds: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Any]]
"""Lets one event of a subscription be executed: from the operation's context, the context for it while a block runs."""

BOUNDS: Final = "cronograph-bounds"
"""Under this key of an operation's extensions its executor finds the `EventBounds`; None = no event has any."""


class OperationExecutor(StrawberryGraphQLCoreExecutionContext):
    """Executes one operation; a subscription once for each of its events.

    graphql-core copies the executor for every event. The copies share a memory of collected sub-fields, by the identity
    of the fields above them; but each collects the root fields anew, so that nothing was ever found there again and
    every event left some kilobytes behind until the subscription ended. Here all events begin with the same root
    fields. Which fields are executed depends on the document and the variables only.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as graphql-core calls it
        super().__init__(*args, **kwargs)
        self._root_fields: dict[str, Any] = {}
        limits: Limits = self.schema.extensions.get(LIMITS) or Limits()
        self._answer_bytes = limits.answer_bytes
        self._size = AnswerSize(limits.answer_bytes)
        self._bounds: EventBounds | None = (self.operation_extensions or {}).get(BOUNDS)

    @override
    def execute_operation(self, serially: bool | None = None) -> Any:
        """Execute a query or mutation, or one event of a subscription."""
        return super().execute_operation(serially) if self._bounds is None else self._execute_event(self._bounds)

    async def _execute_event(self, bounds: EventBounds) -> Any:  # noqa: ANN401 - as graphql-core has it
        async with bounds(self.context_value) as context:
            self.context_value = context
            result = super().execute_operation(serially=False)
            return await result if self.is_awaitable(result) else result

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
        """The answer, or the refusal of one that is too large."""
        if not self._size.exceeded:
            return super().build_response(data)
        most = self._answer_bytes
        what = "The answer is too large, in bytes (counting stops there); a mutation has taken effect"
        return ExecutionResult(None, [LimitExceeded("answer_bytes", most, most + 1, what, advice=ADVICE)])
