"""What becomes of the errors of a result: where a damaged row may be the reason, it is looked for before they are sent.

Most such rows are met where they are read, see ``jobs.store.db.set_aside``. The others show only in the answer: a text
that stands where a number must be, a document without the members that a field is made of.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from strawberry.types import ExecutionContext, ExecutionResult
from strawberry.types.graphql import OperationType

from graphql import GraphQLError

from ...jobs.core.base.errors import UnreadableRow
from ...jobs.store.db.database import Database
from ...jobs.store.db.set_aside import may_be_damage
from ..base.errors import mask_all, root_cause

SETTLING: Final = "cronograph-settling"
"""Under this key of an operation's extensions is its ``Settling``; without it errors are masked at once."""
_ROUNDS: Final = 20


@dataclass(slots=True)
class Settling:
    """The errors of one operation, until they are settled.

    Attributes:
        execution: The operation, once it has met an error.
    """

    execution: ExecutionContext | None = None

    async def settle(self, result: Any, again: Callable[[], Awaitable[Any]] | None = None) -> Any:  # noqa: ANN401 - a result of Strawberry's
        """The result, as the client may see it.

        Args:
            result: What an operation brought.
            again: Executes it again, if it is a query; a mutation has been done, and an event has passed.
        """
        for _ in range(_ROUNDS):
            if not (isinstance(result, ExecutionResult) and any(map(_is_suspect, result.errors or ()))):
                break
            database = self._database()
            if database is None or not await database.find_damage():
                break
            if again is None or not self._is_query():
                _located(result.errors or [], database)
                break
            result = await again()
        if result.errors:
            name = None if self.execution is None else self.execution.operation_name
            result.errors[:] = mask_all(result.errors, name)
        return result

    def _database(self) -> Database | None:
        context: Any = None if self.execution is None else self.execution.context
        found: Any = getattr(context, "database", None)
        if isinstance(found, Database):
            context.renew()
            return found
        return None

    def _is_query(self) -> bool:
        return self.execution is not None and self.execution.operation_type is OperationType.QUERY


def _is_suspect(error: GraphQLError) -> bool:
    """Whether an error may come of what was read: a fault of ours, or a value that its type cannot show."""
    cause = root_cause(error)
    return may_be_damage(cause) or (type(cause) is GraphQLError and error.path is not None)


def _located(errors: list[GraphQLError], database: Database) -> None:
    """Say in the place of what may come of a damaged row which one was found."""
    fault = UnreadableRow(database.damaged.known[-1].sentence)
    errors[:] = [
        GraphQLError(fault.message, nodes=one.nodes, path=one.path, original_error=fault) if _is_suspect(one) else one
        for one in errors
    ]
