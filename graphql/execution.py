"""How operations are executed: as Strawberry does, but for a subscription the fields to execute are found only once."""

from typing import Any

from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from typing_extensions import override

from graphql import GraphQLObjectType


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

    @override
    def execute_root_grouped_field_set(
        self,
        root_type: GraphQLObjectType,
        root_value: Any,
        grouped_field_set: Any,
        serially: bool,
        position_context: Any,
    ) -> Any:
        """Execute the root fields that the first event of this operation had."""
        fields = self._root_fields.setdefault(root_type.name, grouped_field_set)
        return super().execute_root_grouped_field_set(root_type, root_value, fields, serially, position_context)
