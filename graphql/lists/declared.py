"""How a field that is a list is declared: one line says which rows, and paging, filter and order come with it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from typing import Annotated, Any, Final, Generic, Protocol, TypeAlias, TypeVar

import strawberry

from ...jobs.store.read.auth.audit import AUDIT
from ...jobs.store.read.listing.aggregates import EXECUTIONS, GROUPS, JOBS, NODES, RUNS, SKIPPED, TASKS, Listing
from ...jobs.store.read.listing.criteria import Criteria, mentions, stand_in
from ...jobs.store.read.listing.keyset import Page, PageRequest
from ..arguments import AFTER, BEFORE, FIRST, LAST
from ..context import Info
from ..enums import Role
from ..fields import resolved
from ..guard.sizes import PAGE
from ..loaders import Children, Loaders
from .connections import Connection, PageArguments, connect
from .criteria import to_criteria
from .filters import (
    AuditFilter,
    ExecutionFilter,
    GroupFilter,
    JobFilter,
    NodeFilter,
    RunFilter,
    SkippedOccurrenceFilter,
    TaskFilter,
)
from .ordering import (
    ExecutionOrder,
    GroupOrder,
    JobOrder,
    NodeOrder,
    RunOrder,
    SkippedOccurrenceOrder,
    TaskOrder,
    to_keys,
)

M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)


class Shown(Protocol[M_contra]):
    """A type of the schema that shows rows of a list."""

    def from_model(self, row: M_contra, /) -> object:
        """The object that shows a row."""
        ...


Owner: TypeAlias = tuple[str, Callable[[Any], int | str]]
"""Whose rows: the field of the list that names it, and its key, from the object whose field the list is."""

Ahead: TypeAlias = Callable[[Sequence[M]], Awaitable[None]]
"""Reads together what the rows of a page will ask for."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[M]):
    """One kind of list.

    Attributes:
        listing: The rows.
        filter: The input that chooses among them.
        order: The input that orders them; None = they have one order.
        which: What its filter asks, e.g. ``Which tasks.``
        unordered: What the order is unless another is asked for.
    """

    listing: Listing[M]
    filter: type
    order: type | None
    which: str
    unordered: str = "Newest first unless given."

    def parameters(self) -> list[Parameter]:
        """The arguments that a field of this kind takes."""
        types: dict[str, object] = {"first": FIRST, "after": AFTER, "last": LAST, "before": BEFORE}
        types["filter"] = Annotated[self.filter | None, strawberry.argument(description=self.which)]
        if self.order is not None:
            ordered = list[self.order]  # type: ignore[name-defined]
            types["order_by"] = Annotated[ordered | None, strawberry.argument(description=self.unordered)]
        return [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=one) for name, one in types.items()]


TASK_LIST: Final = Kind(TASKS, TaskFilter, TaskOrder, "Which tasks.")
RUN_LIST: Final = Kind(RUNS, RunFilter, RunOrder, "Which runs.")
EXECUTION_LIST: Final = Kind(EXECUTIONS, ExecutionFilter, ExecutionOrder, "Which executions.")
SKIPPED_LIST: Final = Kind(SKIPPED, SkippedOccurrenceFilter, SkippedOccurrenceOrder, "Which skipped occurrences.")
NODE_LIST: Final = Kind(NODES, NodeFilter, NodeOrder, "Which nodes.")
GROUP_LIST: Final = Kind(GROUPS, GroupFilter, GroupOrder, "Which groups.", "By name unless given.")
JOB_LIST: Final = Kind(JOBS, JobFilter, JobOrder, "Which jobs.", "By name unless given.")
AUDIT_LIST: Final = Kind(AUDIT, AuditFilter, None, "Which entries.")


def listed(
    kind: Kind[M],
    shown: Callable[[], Shown[M]],
    *,
    description: str,
    of: Owner | None = None,
    rows: Listing[M] | None = None,
    requires: Role | None = None,
    ahead: Callable[[Info], Ahead[M] | None] | None = None,
) -> Any:  # noqa: ANN401 - a field specifier; the annotation of the field says which connection it is
    """A field that is a list of a kind.

    Args:
        kind: The list.
        shown: The type of the schema that shows a row; asked when it is needed, for types refer to each other.
        description: What clients read about the field.
        of: Whose rows; of a root field all.
        rows: Those of the kind that there are, unless it is all.
        requires: The role that a root field needs.
        ahead: Of a root field: what reads ahead for the operation at hand, if anything does.
    """

    def resolver(self: object, info: Info, **given: Any) -> Connection[Any]:  # noqa: ANN401 - arguments as they came
        criteria = to_criteria(given["filter"])
        paging = PageArguments(given["first"], given["after"], given["last"], given["before"])
        request = paging.request(kind.listing, to_keys(given.get("order_by")), criteria)
        loaders = info.context.loaders
        owned = of and (loaders.children(rows or kind.listing, of[0]), of[1](self))
        found = Rows(loaders, kind.listing, request, owned, ahead and ahead(info))
        return connect(kind.listing.name, request, read=found.page, count=found.count, convert=shown().from_model)

    own = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=one) for name, one in _OWN.items()]
    resolver.__signature__ = Signature([*own, *kind.parameters()])  # type: ignore[attr-defined]
    return resolved(description=description, size=PAGE, requires=requires)(resolver)


_OWN: Final[dict[str, object]] = {"self": Parameter.empty, "info": Info}


@dataclass(frozen=True, slots=True)
class Rows(Generic[M]):
    """The rows that a list has: all, or those of one owner, which are read together with those of others."""

    loaders: Loaders
    listing: Listing[M]
    request: PageRequest
    owned: tuple[Children[M], int | str] | None
    ahead: Ahead[M] | None

    async def page(self) -> Page[M]:
        """The page asked for."""
        request = replace(self.request, criteria=await self._criteria())
        if self.owned is None:
            page = await self.loaders.page(self.listing, request)
            if self.ahead is not None:
                await self.ahead(page.items)
            return page
        children, owner = self.owned
        return await children.page(owner, request)

    async def count(self) -> int:
        """How many rows meet the filter, counted up to the cap and one more."""
        criteria = await self._criteria()
        if self.owned is None:
            return await self.loaders.count(self.listing, criteria)
        children, owner = self.owned
        return await children.count(owner, criteria)

    async def _criteria(self) -> Criteria:
        """Whether a task is stalled no database can tell: it depends on what its schedule means."""
        if not mentions(self.request.criteria, "stalled"):
            return self.request.criteria
        return stand_in(self.request.criteria, "stalled", await self.loaders.stalled())
