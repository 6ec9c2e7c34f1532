"""The arguments of lists with their descriptions, and how lists are read: whole, or of many parents together."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

import strawberry

from ...jobs.store.read.criteria import Criteria
from ...jobs.store.read.keyset import OrderKey, Page
from ...jobs.store.read.lists import Listing
from ..context import Info
from ..loaders import Children
from .connections import Connection, PageArguments, connect
from .filters import (
    AuditFilter,
    ExecutionFilter,
    GroupFilter,
    NodeFilter,
    RunFilter,
    SkippedOccurrenceFilter,
    TaskFilter,
)
from .ordering import ExecutionOrder, GroupOrder, NodeOrder, RunOrder, SkippedOccurrenceOrder, TaskOrder

M = TypeVar("M")
T = TypeVar("T")

TASK_FILTER = Annotated[TaskFilter | None, strawberry.argument(description="Which tasks.")]
TASK_ORDER = Annotated[list[TaskOrder] | None, strawberry.argument(description="By name unless given.")]
RUN_FILTER = Annotated[RunFilter | None, strawberry.argument(description="Which runs.")]
RUN_ORDER = Annotated[list[RunOrder] | None, strawberry.argument(description="Newest first unless given.")]
EXECUTION_FILTER = Annotated[ExecutionFilter | None, strawberry.argument(description="Which executions.")]
EXECUTION_ORDER = Annotated[list[ExecutionOrder] | None, strawberry.argument(description="Newest first unless given.")]
SKIPPED_FILTER = Annotated[
    SkippedOccurrenceFilter | None, strawberry.argument(description="Which skipped occurrences.")
]
SKIPPED_ORDER = Annotated[
    list[SkippedOccurrenceOrder] | None, strawberry.argument(description="Newest first unless given.")
]

AUDIT_FILTER = Annotated[AuditFilter | None, strawberry.argument(description="Which entries.")]
GROUP_FILTER = Annotated[GroupFilter | None, strawberry.argument(description="Which groups.")]
GROUP_ORDER = Annotated[list[GroupOrder] | None, strawberry.argument(description="By name unless given.")]
NODE_FILTER = Annotated[NodeFilter | None, strawberry.argument(description="Which nodes.")]
NODE_ORDER = Annotated[list[NodeOrder] | None, strawberry.argument(description="Newest first unless given.")]


def list_of(
    info: Info,
    listing: Listing[M],
    paging: PageArguments,
    criteria: Criteria,
    order: tuple[OrderKey, ...],
    convert: Callable[[M], T],
    *,
    ahead: Callable[[Sequence[M]], Awaitable[None]] | None = None,
) -> Connection[T]:
    """The connection over a whole list; ``ahead`` reads what its rows will ask for."""
    loaders = info.context.loaders
    request = paging.request(listing, order, criteria)

    async def read() -> Page[M]:
        page = await loaders.page(listing, request)
        if ahead is not None:
            await ahead(page.items)
        return page

    return connect(
        listing.name,
        request,
        read=read,
        count=lambda: loaders.count(listing, criteria),
        convert=convert,
    )


def children_of(
    children: Children[M],
    listing: Listing[M],
    parent: int | str,
    *,
    paging: PageArguments,
    criteria: Criteria,
    order: tuple[OrderKey, ...],
    convert: Callable[[M], T],
) -> Connection[T]:
    """The connection over the rows of one parent; pages and counts of many parents are read together."""
    request = paging.request(listing, order, criteria)
    return connect(
        listing.name,
        request,
        read=lambda: children.page(parent, request),
        count=lambda: children.count(parent, criteria),
        convert=convert,
    )
