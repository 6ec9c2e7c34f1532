"""This server's own API for the built-in job ``graphql_request``: the same schema and checks, without HTTP."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ..graphql.base.errors import UserFacingError, error_answer
from ..graphql.execution.schema_factory import GuardedSchema
from ..graphql.guard.document import RequestRefused
from ..graphql.resolving.context import Context
from ..graphql.transport.engine import Engine, Refused, unrecorded
from ..graphql.transport.request import GraphQLRequest
from ..jobs.core.actor import Submitter


class OwnApi:
    """Runs operations of the schema; implements the protocol ``ApiCaller`` of the jobs.

    Made in the event loop of the API, where the operations are executed; called from the loop of the jobs.

    Args:
        schema: The schema that is served.
        context_for: Makes the context of one operation for a submitter (None = the code of a job), with the rights that
            he has now, and for the place that the audit log names; raises ``UserFacingError`` when he has none any
            more.
        refused: Called for operations that were refused for want of a role.
    """

    def __init__(
        self,
        schema: GuardedSchema,
        context_for: Callable[[Submitter | None, str | None], Awaitable[Context]],
        refused: Refused = unrecorded,
    ) -> None:
        self._engine = Engine(schema, refused)
        self._context_for = context_for
        self._loop = asyncio.get_running_loop()

    async def call(
        self,
        query: str,
        *,
        variables: Mapping[str, Any] | None = None,
        operation_name: str | None = None,
        submitter: Submitter | None = None,
        run_id: int | None = None,
    ) -> dict[str, Any]:
        """Execute ``query``; answers as GraphQL says it, also when the document is refused."""
        request = GraphQLRequest(query, dict(variables or {}), operation_name)
        place = None if run_id is None else f"run {run_id}"
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(self._answer(request, submitter, place), self._loop)
        )

    async def _answer(self, request: GraphQLRequest, submitter: Submitter | None, place: str | None) -> dict[str, Any]:
        try:
            prepared = self._engine.prepare(request)
        except RequestRefused as refused:
            return error_answer(refused.errors)
        if prepared.is_subscription:
            message = "A job can run a query or a mutation; a subscription has no end."
            return error_answer([UserFacingError(message, code="SUBSCRIPTION_REFUSED")])
        try:
            context = await self._context_for(submitter, place)
        except UserFacingError as refusal:
            return error_answer([refusal])
        return await self._engine.execute(prepared, context)
