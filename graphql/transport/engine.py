"""Runs prepared operations and writes their answers, for every transport alike."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from strawberry.types.execution import ExecutionResult, PreExecutionError

from ..base.errors import UserFacingError, error_answer, mask
from ..execution.executor import BOUNDS
from ..execution.schema_factory import PREPARED, GuardedSchema
from ..guard.admission import EventBounds, timed_out
from ..guard.document import Prepared, RequestRefused
from ..guard.metered import METER, Meter
from .request import GraphQLRequest

Refused = Callable[[Any, UserFacingError], Awaitable[None]]
"""Called with the context of an operation that asked for more than its role may do, before that is answered."""


async def unrecorded(_context: object, _refusal: UserFacingError) -> None:
    """Do nothing, for engines whose refusals are not recorded."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a query or a mutation.

    Attributes:
        text: The same as JSON.
    """

    content: Mapping[str, Any]
    text: str


class Engine:
    """Prepares, executes and streams operations of one schema.

    Answers are JSON-ready dicts in the response form of the GraphQL specification (``data``, ``errors``,
    ``extensions``).
    """

    def __init__(self, schema: GuardedSchema, refused: Refused = unrecorded) -> None:
        self.schema = schema
        self.limits = schema.limits
        self._documents = schema.new_documents()
        self._refused = refused

    def trust(self, texts: Iterable[str]) -> None:
        """Keep these documents parsed and validated for ever, each once it has been asked for."""
        self._documents.trust(texts)

    def knows(self, request: GraphQLRequest) -> bool:
        """Return whether to check the document of a request costs next to nothing."""
        return self._documents.knows(request.query)

    def prepare(self, request: GraphQLRequest) -> Prepared:
        """Check a request whose document is known (see ``PersistedDocuments`` for hashes).

        Raises:
            RequestRefused: it will not be executed; carries the errors for the client.
        """
        return self._documents.prepare(request.query, request.variables, request.operation_name)

    async def execute(self, prepared: Prepared, context: Any, meter: Meter | None = None) -> dict[str, Any]:  # noqa: ANN401 - the schema's own type
        """Run a query or a mutation within ``Limits.operation_seconds``; never raises but for cancellation."""
        execution = self.schema.execute(
            prepared.document.text,
            variable_values=prepared.variables,
            context_value=context,
            operation_name=prepared.operation_name,
            operation_extensions={PREPARED: prepared, METER: meter},
        )
        try:
            async with asyncio.timeout(self.limits.operation_seconds):
                result = await (execution if meter is None else meter.of(execution))
        except TimeoutError:
            return error_answer([timed_out("The operation", self.limits, "; a mutation may have taken effect")])
        except Exception as error:  # noqa: BLE001 - masked and logged: the transport has nothing better to do with it
            return error_answer([mask(error, prepared.operation_name)])
        await self._record_refusal(result, context)
        return _answer(result)

    async def stream(
        self,
        prepared: Prepared,
        context: Any,  # noqa: ANN401
        bounds: EventBounds | None = None,
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Run a subscription; yields one answer per event, each made within ``bounds``.

        Raises:
            RequestRefused: the source of events could not be opened, or has failed.
        """
        results = await self.schema.stream(
            prepared.document.text,
            variable_values=prepared.variables,
            context_value=context,
            operation_name=prepared.operation_name,
            operation_extensions={PREPARED: prepared, BOUNDS: bounds},
        )
        try:
            async for result in results:
                if isinstance(result, PreExecutionError):
                    await self._record_refusal(result, context)
                    raise RequestRefused(result.errors or [])
                assert isinstance(result, ExecutionResult), "incremental delivery is not enabled"
                answer = _answer(result)
                if "data" not in answer:
                    raise RequestRefused(result.errors or [])
                yield answer
        finally:
            await results.aclose()

    async def _record_refusal(self, result: ExecutionResult, context: Any) -> None:  # noqa: ANN401
        """Record a refusal before it is answered, so that its receiver finds it in the audit log."""
        if not isinstance(result, PreExecutionError):
            return
        for error in result.errors or ():
            if isinstance(error, UserFacingError) and error.code == "FORBIDDEN":
                await self._refused(context, error)

    def encode(self, answer: Mapping[str, Any]) -> str:
        """Return the answer as JSON text; one that JSON cannot express becomes a masked error."""
        try:
            return encode_json(answer)
        except (TypeError, ValueError, RecursionError) as error:
            return encode_json(error_answer([mask(error)]))


def encode_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Compact JSON. Lone surrogates, which UTF-8 cannot carry, become question marks.

    Raises:
        TypeError: a value is of no JSON type.
        ValueError: a number is not finite, or the value contains itself.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _answer(result: ExecutionResult) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    errors = result.errors or []
    refused = result.data is None and bool(errors) and all(error.path is None for error in errors)
    if errors:
        answer["errors"] = [error.formatted for error in errors]
    if not refused and not isinstance(result, PreExecutionError):
        answer["data"] = result.data
    if result.extensions:
        answer["extensions"] = result.extensions
    return answer
