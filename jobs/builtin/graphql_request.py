"""The job ``graphql_request``: an operation of this server's own API, with the rights of its submitter."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import Field

from ..base.context import JobContext, services_of
from ..base.outcomes import Result
from ..base.services import Also
from ..core.base.errors import ConfigurationError
from ..core.model import Json

MESSAGES_SHOWN = 3
MESSAGE_LENGTH = 300
MAX_VALUE = 256 * 1024
"""Bytes of JSON that are kept as the result value."""

Query = Annotated[str, Field(min_length=1, max_length=64 * 1024, description="A GraphQL document.")]
Variables = Annotated[dict[str, Json] | None, Field(description="The variables of the operation.")]
OperationName = Annotated[
    str | None, Field(alias="operationName", description="Which operation of the document; needed if it has several.")
]


class ApiError(Exception):
    """The API answered with errors; the message names the first ones."""


async def graphql_request(
    context: JobContext,
    query: Query,
    variables: Variables = None,
    operation_name: OperationName = None,
) -> Result:
    """Runs an operation of this server's own API.

    The attempt fails if the answer has errors, of GraphQL itself or in the ``errors`` of a mutation's payload.
    """
    return Result(value=_bounded(context, await ask(context, query, variables, operation_name)))


async def ask(
    context: JobContext,
    query: str,
    variables: dict[str, Json] | None = None,
    operation_name: str | None = None,
    *,
    also: Also | None = None,
) -> Json:
    """Return the data that the API answers to a job, with the rights of the submitter of its run.

    ``also`` is done in the transaction of a mutation; an error raised there takes all of it back.

    Raises:
        ConfigurationError: the node has no API.
        ApiError: the answer has errors, of GraphQL itself or in the ``errors`` of a mutation's payload.
    """
    api, info = services_of(context).api, context.info
    if api is None:
        raise ConfigurationError(f"job '{info.job_name}': must run on a node with an API, this one has none")
    answer = await api.call(
        query,
        variables=variables,
        operation_name=operation_name,
        submitter=info.submitter,
        run_id=info.run_id,
        also=also,
    )
    messages = list(_messages(answer))
    if messages:
        raise ApiError(_summary(messages))
    return answer.get("data")


def _messages(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the messages of all errors in an answer: first those of GraphQL, then those of mutations."""
    yield from _each_message(answer.get("errors"))
    data = answer.get("data")
    if isinstance(data, Mapping):
        for payload in cast("Mapping[str, object]", data).values():
            if isinstance(payload, Mapping):
                yield from _each_message(cast("Mapping[str, object]", payload).get("errors"))


def _each_message(errors: object) -> Iterator[str]:
    for error in cast("list[object]", errors) if isinstance(errors, list) else []:
        known = cast("Mapping[str, object]", error) if isinstance(error, Mapping) else {"message": error}
        yield str(known.get("message", known))[:MESSAGE_LENGTH]


def _summary(messages: Sequence[str]) -> str:
    shown = "; ".join(messages[:MESSAGES_SHOWN])
    further = len(messages) - MESSAGES_SHOWN
    count = "an error" if len(messages) == 1 else f"{len(messages)} errors"
    return f"the API answered with {count}: {shown}" + (f"; and {further} more" if further > 0 else "")


def _bounded(context: JobContext, data: Json) -> Json:
    """Return ``data`` to keep as the result, or None with a line in the log when it is too large."""
    size = len(json.dumps(data).encode())
    if size <= MAX_VALUE:
        return data
    context.log.warning("the answer is too large to be kept as the result", bytes=size, limit=MAX_VALUE)
    return None
