"""Actions on many rows: which rows a selection means, what is done to them, and where the next call goes on.

Following the cursors of the answers ends: the first call notes the newest row, and no call looks beyond that, so rows
that the action itself makes, or that come meanwhile, are not looked at.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, TypeVar, cast

import strawberry

from ....jobs.actions.idempotent import AnswerCodec
from ....jobs.core.base.errors import ErrorCode, InvalidInput, NotFound, UserError
from ....jobs.core.explain.previews import Preview
from ....jobs.core.model import Json, Priority, Run, Task
from ....jobs.core.rules import unknown
from ....jobs.store.db.transaction import Tx
from ....jobs.store.read import runs as stored_runs
from ....jobs.store.read import tasks as stored_tasks
from ....jobs.store.read.figures.depth import stalled
from ....jobs.store.read.listing import pages
from ....jobs.store.read.listing.criteria import AllOf, Condition, Criteria, Operator, mentions, stand_in
from ....jobs.store.read.listing.keyset import OrderKey
from ....jobs.store.read.listing.listing import Listing
from ....jobs.store.read.lists import RUNS, TASKS
from ...base.arguments import MAX_RUNS, MAX_TASKS
from ...base.errors import UserFacingError
from ...base.fields import Size
from ...base.scalars import BigInt
from ...lists.connections import decode, encode
from ...lists.filters import MUTATIONS, RowFilter, absent_variables, is_empty, to_criteria
from ...resolving.context import Info
from ...types.payloads import ManyChanged
from ...types.run import RunFilter
from ...types.task import TaskFilter
from .changes import Done, given, is_dry, parse_key, perform
from .inputs import REASON, MutationInput, optional

AFTER = "With `filter`: go on behind this `endCursor` of the answer before, with the same filter."
ALL = (
    "Chooses all to which this can be done, where `filter` is empty or absent; unless it is true, that is refused "
    "(error `NO_CONDITION`)."
)


@strawberry.input
class Selection(MutationInput):
    """Hold the arguments of a mutation of many rows, besides the rows."""

    all: bool | None = optional(ALL)
    after: str | None = optional(AFTER)


@strawberry.input
class RunSelection(Selection):
    """Runs by key, by filter, or all, one of them."""

    NAMED: ClassVar = "ids"

    ids: list[strawberry.ID] | None = optional("Which runs, at most 10,000; or else `filter`.", Size(most=MAX_RUNS))
    filter: RunFilter | None = optional(
        "All runs that match and to which this can be done, at most 10,000 per call; or else `ids`. Every condition in "
        "it needs a value."
    )


@strawberry.input
class TaskSelection(Selection):
    """Tasks by name, by filter, or all, one of them."""

    NAMED: ClassVar = "names"

    names: list[str] | None = optional("Which tasks, at most 1,000; or else `filter`.", Size(most=MAX_TASKS))
    filter: TaskFilter | None = optional(
        "All tasks that match and to which this can be done, at most 1,000 per call; or else `names`. Every condition "
        "in it needs a value."
    )


@strawberry.input(description="Runs to be cancelled. Finished ones are left as they are.")
class CancelRunsInput(RunSelection):
    """The input of ``cancelRuns``."""

    reason: str | None = optional(REASON)


@strawberry.input(description="Finished runs to be made again.")
class RetryRunsInput(RunSelection):
    """The input of ``retryRuns``."""

    exclude_retried: bool = strawberry.field(
        description="With `filter`: leave out runs that another run retries already.", default=True
    )


@strawberry.input(description="Waiting and stuck runs to be made due now: one, or many by key or by filter.")
class RetryNowInput(RunSelection):
    """The input of ``retryNow``."""

    id: strawberry.ID | None = optional("Which run; or else `ids` or `filter`.")


@strawberry.input(
    description="Runs whose priority is to change. Those that neither wait nor are stuck stay as they are."
)
class SetRunPriorityInput(RunSelection):
    """The input of ``setRunPriority``."""

    priority: Priority = strawberry.field(description="The new priority.")


@strawberry.input(description="Tasks to be paused. Of those that match a filter paused ones stay as they are.")
class PauseTasksInput(TaskSelection):
    """The input of ``pauseTasks``."""

    reason: str | None = optional(REASON)


@strawberry.input(description="Paused tasks to be resumed.")
class ResumeTasksInput(TaskSelection):
    """The input of ``resumeTasks``."""


@strawberry.input(description="Tasks to be deleted. A filter finds none that a live node declares in its code.")
class DeleteTasksInput(TaskSelection):
    """The input of ``deleteTasks``."""


M = TypeVar("M", Run, Task)
P = TypeVar("P", bound=ManyChanged)
T = TypeVar("T")

PLACE: Final = (OrderKey("id"), OrderKey("newest"))
MAX_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Changed(Generic[M]):
    """Hold the changed rows, real or predicted: the rows afterwards, how many, whether more match and behind what.

    On a dry run that asks for it, ``preview`` is what would become of the new runs.
    """

    rows: list[M]
    count: int
    has_more: bool = False
    end_cursor: str | None = None
    preview: Preview | None = None


def codec_of(name: str, load: Callable[[Tx, Json], list[M]]) -> AnswerCodec[Changed[M]]:
    """Return how a repeated request on many finds its answer: the keys of the rows that it showed, under a name.

    Args:
        name: What the rows are called.
        load: Finds them again by what was kept.
    """
    return AnswerCodec(
        dump=lambda done: {
            name: [row.id for row in done.rows[:MAX_SHOWN]],
            "count": done.count,
            "hasMore": done.has_more,
            "endCursor": done.end_cursor,
        },
        load=lambda tx, stored: Changed(load(tx, stored), stored["count"], stored["hasMore"], stored["endCursor"]),
    )


async def perform_many(
    info: Info, selection: RunSelection | TaskSelection, action: Callable[[Tx], T], codec: AnswerCodec[T]
) -> Done[T]:
    """Run an action on many rows, unless its selection could choose more of them than was meant."""
    return await perform(info, selection, action, codec, faults=selection_faults(info, selection))


def answer_many(kind: type[P], done: Done[Changed[M]], **shown: Callable[[M], object]) -> P:
    """Return what a mutation of many answers; ``shown`` is the field with the first of the rows, and what shows one."""
    ((name, show),) = shown.items()
    rows: dict[str, Callable[[Changed[M]], object]] = {name: lambda done: [show(row) for row in done.rows[:MAX_SHOWN]]}
    return done.answer(
        kind,
        count=lambda done: BigInt(done.count),
        has_more=lambda done: done.has_more,
        end_cursor=lambda done: done.end_cursor,
        **rows,
    )


@dataclass(frozen=True, slots=True)
class BulkAction(Generic[M]):
    """Something that is done to many.

    Attributes:
        apply: Does it to the rows of these keys; the rows that it answers are shown.
        also: What rows must be besides what a filter says, so that it does something to them.
        accepts: Whether it does something to a row that was named.
    """

    apply: Callable[[Tx, Sequence[int]], list[M]]
    criteria: Callable[[Tx], Criteria]
    accepts: Callable[[M], bool]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The keys that a selection means."""

    keys: list[int]
    has_more: bool = False
    end_cursor: str | None = None


def selection_faults(info: Info, selection: RunSelection | TaskSelection) -> Iterator[UserError]:
    """By what a selection could choose more rows than was meant: a condition without a value, or none at all."""
    named, everything = _named(selection), bool(given(selection.all))
    filter = cast("RowFilter | None", given(selection.filter))
    if named is not None and (filter is not None or everything):
        other = "filter" if filter is not None else "all"
        yield InvalidInput(
            f"{selection.NAMED}: give either {selection.NAMED} or {other}, not both", path=(selection.NAMED,)
        )
    absent = list(absent_variables(info, "input", "filter"))
    yield from absent
    if filter is not None and not is_empty(filter):
        yield from () if absent else MUTATIONS.of(filter, ("filter",))
    elif named is None and not everything and not absent:
        yield UserError(
            f"filter: must have at least one condition, got none; give {selection.NAMED}, conditions, or `all: true`",
            path=("filter",),
            code=ErrorCode.NO_CONDITION,
        )


def _named(selection: RunSelection | TaskSelection) -> list[Any] | None:
    return given(selection.ids) if isinstance(selection, RunSelection) else given(selection.names)


def many_runs(tx: Tx, selection: RunSelection, bulk_action: BulkAction[Run]) -> Changed[Run]:
    """Do something to the selected runs; without keys and filter to all, so ask ``selection_faults`` first.

    Raises:
        UserError: a faulty selection, or what the action refuses.
    """
    ids = given(selection.ids)
    if ids is None:
        filter = given(selection.filter) or RunFilter()
        chosen = _by_filter(tx, RUNS, filter, selection.after, bulk_action.criteria(tx), MAX_RUNS)
    else:
        keys = sorted({parse_key(one, "ids", str(place)) for place, one in enumerate(ids)})
        chosen = _Chosen(_bounded(keys, MAX_RUNS, "ids", "runs"))
    before = stored_runs.by_ids(tx.conn, chosen.keys)
    missing = next((key for key in chosen.keys if key not in before), None)
    if missing is not None:
        raise NotFound(f"run '{missing}' does not exist", path=("ids",))
    return _done(tx, chosen, before, bulk_action, dry_run=is_dry(selection))


def many_tasks(tx: Tx, selection: TaskSelection, bulk_action: BulkAction[Task]) -> Changed[Task]:
    """Do something to the selected tasks; as ``many_runs``.

    Raises:
        UserError: a faulty selection, or what the action refuses.
    """
    names = given(selection.names)
    if names is None:
        filter = given(selection.filter) or TaskFilter()
        chosen = _by_filter(tx, TASKS, filter, selection.after, bulk_action.criteria(tx), MAX_TASKS)
    else:
        wanted = _bounded(sorted(set(names)), MAX_TASKS, "names", "tasks")
        found = stored_tasks.by_names(tx.conn, wanted)
        missing = next((name for name in wanted if name not in found), None)
        if missing is not None:
            raise unknown("task", missing, stored_tasks.names_like(tx.conn, missing), field="names")
        chosen = _Chosen(sorted(task.id for task in found.values()))
    return _done(tx, chosen, stored_tasks.by_ids(tx.conn, chosen.keys), bulk_action, dry_run=is_dry(selection))


def _bounded(named: list[Any], most: int, field: str, what: str) -> list[Any]:
    if len(named) > most:
        raise InvalidInput(f"{field}: must be at most {most:,} {what}, got {len(named):,}", path=(field,))
    return named


def _done(tx: Tx, chosen: _Chosen, before: dict[int, M], bulk_action: BulkAction[M], *, dry_run: bool) -> Changed[M]:
    accepts = [key for key in chosen.keys if bulk_action.accepts(before[key])]
    rows = [before[key] for key in accepts] if dry_run else bulk_action.apply(tx, chosen.keys)
    return Changed(rows, len(accepts), chosen.has_more, chosen.end_cursor)


def _by_filter(tx: Tx, listing: Listing[M], filter: RowFilter, after: str | None, also: Criteria, most: int) -> _Chosen:
    """The next rows that a filter finds, and where to go on behind them."""
    behind, newest = _place(tx, listing, given(after))
    in_range = AllOf((Condition("id", Operator.GT, behind), Condition("id", Operator.LTE, newest)))
    criteria = AllOf((_criteria(tx, filter), also, in_range))
    keys = pages.ids(tx.conn, listing, criteria, most + 1)
    kept = keys[:most]
    end = encode(_name(listing), PLACE, (kept[-1], newest)) if kept else None
    return _Chosen(kept, len(keys) > most, end)


def _criteria(tx: Tx, filter: RowFilter) -> Criteria:
    try:
        criteria = to_criteria(filter)
    except UserFacingError as error:
        raise InvalidInput(error.message, path=("filter",)) from error
    if not mentions(criteria, "stalled"):
        return criteria
    return stand_in(criteria, "stalled", stalled(tx.conn, tx.now))


def _place(tx: Tx, listing: Listing[Any], after: str | None) -> tuple[int, int]:
    """The key behind which the call looks, and the newest at which it ends."""
    if after is None:
        return 0, pages.newest_id(tx.conn, listing)
    try:
        behind, newest = decode(_name(listing), PLACE, (int, int), after, "after")
    except UserFacingError as error:
        raise InvalidInput(error.message, path=("after",)) from error
    assert isinstance(behind, int), "the place is two keys"
    assert isinstance(newest, int), "the place is two keys"
    return behind, newest


def _name(listing: Listing[Any]) -> str:
    return f"many {listing.name}"
