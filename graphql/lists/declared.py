"""How a field that is a list is declared: one line says which rows, and paging, filter and order come with it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from typing import Annotated, Any, Final, Generic, TypeAlias, TypeVar

import strawberry

from ...jobs.accounts.read.accounts import ACCOUNTS
from ...jobs.accounts.read.audit import AUDIT
from ...jobs.accounts.read.secrets import SECRETS
from ...jobs.store.read.listing.criteria import Criteria, labels_in, mentions, stand_in, with_spreads
from ...jobs.store.read.listing.keyset import Page, PageRequest
from ...jobs.store.read.listing.listing import Listing
from ...jobs.store.read.listing.searching import Counted, capped, is_bounded, search_for, search_to_count
from ...jobs.store.read.lists import EXECUTIONS, FLOWS, GROUPS, JOBS, NODES, RUNS, SKIPPED, TASKS
from ..base.arguments import AFTER, BEFORE, FIRST, LAST
from ..base.enums import Role
from ..base.fields import resolved
from ..base.sizes import PAGE
from ..resolving.children import Children
from ..resolving.context import Info
from ..resolving.keys import ListKey, SearchKey
from ..resolving.loaders import Loaders
from .connections import Connection, PageArguments, connect
from .criteria import criteria_of_list
from .filters import (
    AccountFilter,
    AuditFilter,
    ExecutionFilter,
    FlowFilter,
    GroupFilter,
    JobFilter,
    NodeFilter,
    RunFilter,
    SecretFilter,
    SkippedOccurrenceFilter,
    TaskFilter,
)
from .ordering import (
    ExecutionOrder,
    FlowOrder,
    GroupOrder,
    JobOrder,
    NodeOrder,
    RunOrder,
    SkippedOccurrenceOrder,
    TaskOrder,
    to_keys,
)
from .reading import Newest, Reading, Shown, reading_of
from .searching import in_time, is_searched
from .selection import asked_of, below

M = TypeVar("M")


Owner: TypeAlias = tuple[str, Callable[[Any], int | str]]
"""Whose rows: the field of the list that names it, and its key, from the object whose field the list is."""


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
FLOW_LIST: Final = Kind(FLOWS, FlowFilter, FlowOrder, "Which flows.")
EXECUTION_LIST: Final = Kind(EXECUTIONS, ExecutionFilter, ExecutionOrder, "Which executions.")
SKIPPED_LIST: Final = Kind(SKIPPED, SkippedOccurrenceFilter, SkippedOccurrenceOrder, "Which skipped occurrences.")
NODE_LIST: Final = Kind(NODES, NodeFilter, NodeOrder, "Which nodes.")
GROUP_LIST: Final = Kind(GROUPS, GroupFilter, GroupOrder, "Which groups.", "By name unless given.")
JOB_LIST: Final = Kind(JOBS, JobFilter, JobOrder, "Which jobs.", "By name unless given.")
ACCOUNT_LIST: Final = Kind(ACCOUNTS, AccountFilter, None, "Which accounts.")
SECRET_LIST: Final = Kind(SECRETS, SecretFilter, None, "Which secrets.")
AUDIT_LIST: Final = Kind(AUDIT, AuditFilter, None, "Which entries.")


def listed(
    kind: Kind[M],
    shown: Callable[[], Shown[M]],
    *,
    description: str,
    of: Owner | None = None,
    rows: Listing[M] | None = None,
    requires: Role | None = None,
    newest: Newest | None = None,
) -> Any:  # noqa: ANN401 - a field specifier; the annotation of the field says which connection it is
    """A field that is a list of a kind.

    Args:
        kind: The list.
        shown: The type of the schema that shows a row; asked when it is needed, for types refer to each other.
        description: What clients read about the field.
        of: Whose rows; of a root field all.
        rows: Those of the kind that there are, unless it is all.
        requires: The role that a root field needs.
        newest: Of a root field of tasks: which of their fields is read together with them.
    """

    def resolver(self: object, info: Info, **given: Any) -> Connection[Any]:  # noqa: ANN401 - arguments as they came
        criteria = criteria_of_list(info, given["filter"])
        paging = PageArguments(given["first"], given["after"], given["last"], given["before"])
        request = paging.request(kind.listing, to_keys(given.get("order_by")), criteria)
        loaders = info.context.loaders
        if of is not None:
            owned = OwnRows(loaders, rows or kind.listing, request, of[0], of[1](self))
            return connect(kind.listing.name, request, read=owned.page, count=owned.count, convert=shown().from_model)
        reading = reading_of(kind.listing, shown(), below(asked_of(info), "nodes.", "edges.node."), newest)
        found = Rows(loaders, kind.listing, request, reading)
        return connect(kind.listing.name, request, read=found.page, count=found.count, convert=reading.show)

    own = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=one) for name, one in _OWN.items()]
    resolver.__signature__ = Signature([*own, *kind.parameters()])  # type: ignore[attr-defined]
    return resolved(description=description, size=PAGE, requires=requires)(resolver)


_OWN: Final[dict[str, object]] = {"self": Parameter.empty, "info": Info}


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a whole list."""

    loaders: Loaders
    listing: Listing[Any]
    request: PageRequest
    reading: Reading

    async def page(self) -> Page[Any]:
        """The page asked for.

        Raises:
            UserFacingError: it takes a search that costs too much, see ``searching``.
        """
        request = replace(self.request, criteria=await criteria_of(self.loaders, self.request))
        rows, newest = self.reading.rows, self.reading.newest
        search = search_for(self.listing, request)
        bounded = search is not None and newest is None and is_bounded(search, request.order)
        if await is_searched(self.loaders, self.listing, search, request.criteria, bounded=bounded):
            with in_time(self.loaders, self.listing, search):
                return await self.loaders.searched(SearchKey(self.listing, ListKey(rows, request, newest), bounded))
        if newest is None:
            return await self.loaders.page(rows, request)
        return await self.loaders.page_with_newest(rows, newest, request)

    async def count(self) -> Counted:
        """How many rows meet the filter.

        Raises:
            UserFacingError: it takes a search that costs too much, see ``searching``.
        """
        criteria = await criteria_of(self.loaders, self.request)
        search = search_to_count(self.listing, criteria)
        bounded = search is not None and is_bounded(search)
        if await is_searched(self.loaders, self.listing, search, bounded=bounded):
            with in_time(self.loaders, self.listing, search):
                return await self.loaders.searched_number(self.listing, criteria, bounded=bounded)
        return capped(await self.loaders.count(self.listing, criteria))


@dataclass(frozen=True, slots=True)
class OwnRows(Generic[M]):
    """The rows of a list that one owner has; they are read together with those of others."""

    loaders: Loaders
    listing: Listing[M]
    request: PageRequest
    field: str
    owner: int | str

    async def page(self) -> Page[M]:
        """The page asked for.

        Raises:
            UserFacingError: it takes a search that costs too much, see ``searching``.
        """
        request = replace(self.request, criteria=await criteria_of(self.loaders, self.request))
        search = search_for(self.listing, request, owned=True) if self._is_long else None
        searched = await is_searched(self.loaders, self.listing, search)
        with in_time(self.loaders, self.listing, search if searched else None):
            return await self._children(searched=searched).page(self.owner, request)

    async def count(self) -> Counted:
        """How many rows meet the filter.

        Raises:
            UserFacingError: it takes a search that costs too much, see ``searching``.
        """
        criteria = await criteria_of(self.loaders, self.request)
        search = search_to_count(self.listing, criteria, owned=True) if self._is_long else None
        searched = await is_searched(self.loaders, self.listing, search)
        with in_time(self.loaders, self.listing, search if searched else None):
            return capped(await self._children(searched=searched).count(self.owner, criteria))

    @property
    def _is_long(self) -> bool:
        """Whether one owner has more than a handful."""
        return self.listing.indexes is not None and self.field not in self.listing.indexes.unique

    def _children(self, *, searched: bool) -> Children[M]:
        return self.loaders.children(self.listing, self.field, searched=searched)


async def criteria_of(loaders: Loaders, request: PageRequest) -> Criteria:
    """The condition that is sent.

    Whether a task is stalled no database can tell: it depends on what its schedule means.
    """
    criteria = request.criteria
    labels = labels_in(criteria)
    if labels:
        # How rows with a label are looked for best depends on how many there are, which no planner of SQLite knows.
        criteria = with_spreads(criteria, {one: await loaders.spreads.load(one) for one in labels})
    if not mentions(criteria, "stalled"):
        return criteria
    return stand_in(criteria, "stalled", await loaders.stalled())
