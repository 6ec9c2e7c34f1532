"""Actions on many rows: the rows that a selection means, the action on them, and where the next call goes on.

Following the cursors of the answers ends: the first call notes the newest row, and no call looks beyond that, so rows
that the action itself makes, or that come meanwhile, are not looked at.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final, Generic, TypeVar, cast

import strawberry

from ....jobs.actions.idempotent import AnswerCodec
from ....jobs.core.base.errors import ErrorCode, InvalidInput, NotFound, UserError
from ....jobs.core.explain.previews import Preview
from ....jobs.core.model import Priority, Run, Task
from ....jobs.core.rules import unknown
from ....jobs.store.db.transaction import Tx
from ....jobs.store.statements import runs as stored_runs
from ....jobs.store.statements import tasks as stored_tasks
from ....jobs.store.statements.figures.depth import judged
from ....jobs.store.statements.listing import pages
from ....jobs.store.statements.listing.criteria import AllOf, Condition, Criteria, Operator
from ....jobs.store.statements.listing.keyset import OrderKey
from ....jobs.store.statements.listing.listing import Listing
from ....jobs.store.statements.lists import RUNS, TASKS
from ...base.errors import UserFacingError
from ...base.fields import Size
from ...base.scalars import MAX_RUNS, MAX_TASKS, BigInt, Labels
from ...lists.connections import decode, encode
from ...lists.filters import MUTATIONS, RowFilter, absent_variables, is_empty, to_criteria
from ...resolving.context import Info
from ...types.payloads import ManyChanged
from ...types.run import RunFilter
from ...types.task import TaskFilter
from .changes import Done, given, is_dry, parse_key, perform
from .inputs import REASON, RESUME_AT, MutationInput, optional

FIRST = "The most rows to change; as many as one call changes unless given. Ids and names need none."
AFTER = (
    "Go on behind this `endCursor` of the answer before, with the same selection. The first rows unless given; ids and "
    "names need none."
)


@strawberry.input(one_of=True, description="Exactly one of these says which runs are meant: ids, a filter, or all.")
class RunSelection:
    """Runs by key, by filter, or all."""

    NAMED: ClassVar = "ids"

    ids: list[strawberry.ID] | None = optional("The runs with these ids, at most 10,000.", Size(most=MAX_RUNS))
    filter: RunFilter | None = optional(
        "The runs that match and that the mutation can change, at most 10,000 per call. Each condition needs a value."
    )
    all: bool | None = optional("Every run that the mutation can change, at most 10,000 per call. Only true is taken.")


@strawberry.input(one_of=True, description="Exactly one of these says which tasks are meant: names, a filter or all.")
class TaskSelection:
    """Tasks by name, by filter, or all."""

    NAMED: ClassVar = "names"

    names: list[str] | None = optional("The tasks with these names, at most 1,000.", Size(most=MAX_TASKS))
    filter: TaskFilter | None = optional(
        "The tasks that match and that the mutation can change, at most 1,000 per call. Each condition needs a value."
    )
    all: bool | None = optional("Every task that the mutation can change, at most 1,000 per call. Only true is taken.")


@strawberry.input
class RunsInput(MutationInput):
    """The input of a mutation of many runs."""

    runs: RunSelection = strawberry.field(description="The runs to change.")
    after: str | None = optional(AFTER)
    first: int | None = optional(FIRST)


@strawberry.input
class TasksInput(MutationInput):
    """The input of a mutation of many tasks."""

    tasks: TaskSelection = strawberry.field(description="The tasks to change.")
    after: str | None = optional(AFTER)
    first: int | None = optional(FIRST)


@strawberry.input(description="The runs that `cancelRuns` cancels. Finished runs are left as they are.")
class CancelRunsInput(RunsInput):
    """The input of ``cancelRuns``."""

    reason: str | None = optional(REASON)


@strawberry.input(description="The finished runs of which `retryRuns` makes new ones.")
class RetryRunsInput(RunsInput):
    """The input of ``retryRuns``."""

    exclude_retried: bool = strawberry.field(
        description="True leaves out runs that another run retries already, but none of `ids`. True unless given.",
        default=True,
    )
    labels: Labels | None = optional(
        "The labels that the new runs get besides those of the old ones, as far as a run can have more labels."
    )


@strawberry.input(description="The waiting and stuck runs that `retryRunsNow` makes due. Others are left as they are.")
class RetryRunsNowInput(RunsInput):
    """The input of ``retryRunsNow``."""


@strawberry.input(
    description="The waiting and stuck runs that `setRunPriorities` changes. Others are left as they are."
)
class SetRunPrioritiesInput(RunsInput):
    """The input of ``setRunPriorities``."""

    priority: Priority = strawberry.field(description="The new priority of the runs.")


@strawberry.input(description="The tasks that `pauseTasks` pauses. A filter finds none that is paused already.")
class PauseTasksInput(TasksInput):
    """The input of ``pauseTasks``."""

    reason: str | None = optional(REASON)
    resume_at: datetime | None = optional(RESUME_AT)


@strawberry.input(description="The paused tasks that `resumeTasks` resumes. Others are left as they are.")
class ResumeTasksInput(TasksInput):
    """The input of ``resumeTasks``."""


@strawberry.input(
    description="The tasks that `deleteTasks` deletes. A filter finds none that a live node declares in its code."
)
class DeleteTasksInput(TasksInput):
    """The input of ``deleteTasks``."""


M = TypeVar("M", Run, Task)
P = TypeVar("P", bound=ManyChanged)
T = TypeVar("T")

PLACE: Final = (OrderKey("id"), OrderKey("newest"))
MAX_SHOWN: Final = 200
MAX_COUNTED: Final = 10**9


@dataclass(frozen=True, slots=True)
class Changed(Generic[T]):
    """Hold an action's answer for each row, their number, whether more match and behind which cursor.

    On a dry run ``preview`` is the fate of the new runs.
    """

    rows: list[T]
    count: int
    has_more: bool = False
    end_cursor: str | None = None
    preview: Preview | None = None


def codec_of(rows: AnswerCodec[list[T]]) -> AnswerCodec[Changed[T]]:
    """Return the codec of a stored bulk answer, given the codec of the rows that it shows."""
    return AnswerCodec(
        dump=lambda done: {
            **rows.dump(done.rows[:MAX_SHOWN]),
            "count": done.count,
            "hasMore": done.has_more,
            "endCursor": done.end_cursor,
        },
        load=lambda tx, stored: Changed(rows.load(tx, stored), stored["count"], stored["hasMore"], stored["endCursor"]),
    )


async def perform_many(
    info: Info, input: RunsInput | TasksInput, action: Callable[[Tx], T], codec: AnswerCodec[T]
) -> Done[T]:
    """Run an action on many rows, unless its selection could choose more of them than was meant."""
    return await perform(info, input, action, codec, faults=_selection_faults(info, input))


def answer_many(kind: type[P], done: Done[Changed[T]], **shown: Callable[[T], object]) -> P:
    """Return the payload of a bulk mutation; ``shown`` names the field with the first rows, and makes one of a row."""
    ((name, show),) = shown.items()
    rows: dict[str, Callable[[Changed[T]], object]] = {name: lambda done: [show(row) for row in done.rows[:MAX_SHOWN]]}
    return done.answer(
        kind,
        count=lambda done: BigInt(done.count),
        has_more=lambda done: done.has_more,
        end_cursor=lambda done: done.end_cursor,
        **rows,
    )


@dataclass(frozen=True, slots=True)
class BulkAction(Generic[M, T]):
    """Something that is done to many.

    Attributes:
        apply: Does it to the rows of these keys; its answer for each is shown.
        criteria: The conditions on rows besides those of a filter, so that it does something to them.
        accepts: Whether it does something to a row that was named.
    """

    apply: Callable[[Tx, Sequence[int]], list[T]]
    criteria: Callable[[Tx], Criteria]
    accepts: Callable[[M], bool]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The keys that a selection means; ``matching`` counts them and those behind them, if that was asked for."""

    keys: list[int]
    has_more: bool = False
    end_cursor: str | None = None
    matching: int | None = None


def _selection_faults(info: Info, input: RunsInput | TasksInput) -> Iterator[UserError]:
    """Yield faults by which a selection chooses more rows than was meant: a condition without a value, or none."""
    field, selection = ("runs", input.runs) if isinstance(input, RunsInput) else ("tasks", input.tasks)
    absent = list(absent_variables(info, "input", field, "filter"))
    yield from absent
    filter = cast("RowFilter | None", given(selection.filter))
    if filter is not None and not is_empty(filter):
        yield from () if absent else MUTATIONS.of(filter, (field, "filter"))
    elif (filter is not None and not absent) or given(selection.all) is False:
        chosen = "filter" if filter is not None else "all"
        wanted = "have at least one condition, got none" if filter is not None else "be true, got false"
        yield UserError(
            f"{field}.{chosen}: must {wanted}; give {selection.NAMED}, conditions, or `all: true`",
            path=(field, chosen),
            code=ErrorCode.NO_CONDITION,
        )


def many_runs(tx: Tx, input: RunsInput, bulk_action: BulkAction[Run, T]) -> Changed[T]:
    """Do something to the selected runs.

    Raises:
        UserError: a faulty selection, or one that the action refuses.
    """
    ids = given(input.runs.ids)
    if ids is None:
        filter = given(input.runs.filter) or RunFilter()
        chosen = _by_filter(tx, RUNS, filter, input, bulk_action.criteria(tx), MAX_RUNS)
    else:
        keys = sorted({parse_key(one, "runs", "ids", str(place)) for place, one in enumerate(ids)})
        chosen = _Chosen(_bounded(keys, MAX_RUNS, ("runs", "ids")))
    before = stored_runs.by_ids(tx.conn, chosen.keys)
    missing = next((key for key in chosen.keys if key not in before), None)
    if missing is not None:
        raise NotFound(f"run '{missing}' does not exist", path=("runs", "ids"))
    return _done(tx, chosen, before, bulk_action)


def many_tasks(tx: Tx, input: TasksInput, bulk_action: BulkAction[Task, T]) -> Changed[T]:
    """Do something to the selected tasks; as ``many_runs``.

    Raises:
        UserError: a faulty selection, or one that the action refuses.
    """
    names = given(input.tasks.names)
    if names is None:
        filter = given(input.tasks.filter) or TaskFilter()
        chosen = _by_filter(tx, TASKS, filter, input, bulk_action.criteria(tx), MAX_TASKS)
    else:
        wanted = _bounded(sorted(set(names)), MAX_TASKS, ("tasks", "names"))
        found = stored_tasks.by_names(tx.conn, wanted)
        missing = next((name for name in wanted if name not in found), None)
        if missing is not None:
            known = stored_tasks.names_like(tx.conn, missing)
            raise unknown("task", missing, known, field="names").with_prefix("tasks")
        chosen = _Chosen(sorted(task.id for task in found.values()))
    return _done(tx, chosen, stored_tasks.by_ids(tx.conn, chosen.keys), bulk_action)


def _bounded(named: list[Any], most: int, place: tuple[str, str]) -> list[Any]:
    if len(named) > most:
        raise InvalidInput(f"{'.'.join(place)}: must be at most {most:,} {place[0]}, got {len(named):,}", path=place)
    return named


def _done(tx: Tx, chosen: _Chosen, before: dict[int, M], bulk_action: BulkAction[M, T]) -> Changed[T]:
    accepted = sum(1 for key in chosen.keys if bulk_action.accepts(before[key]))
    count = accepted if chosen.matching is None else chosen.matching
    return Changed(bulk_action.apply(tx, chosen.keys), count, chosen.has_more, chosen.end_cursor)


def _by_filter(
    tx: Tx, listing: Listing[M], filter: RowFilter, input: RunsInput | TasksInput, also: Criteria, limit: int
) -> _Chosen:
    """Return the next rows that a filter finds, and where to go on behind them; on a dry run count all of them."""
    wanted = given(input.first)
    most = limit if wanted is None else wanted
    if not 1 <= most <= limit:
        raise InvalidInput(f"first: must be 1 to {limit:,}, got {most:,}", path=("first",))
    behind, newest = _place(tx, listing, given(input.after))
    in_range = AllOf((Condition("id", Operator.GT, behind), Condition("id", Operator.LTE, newest)))
    criteria = AllOf((_criteria(tx, filter, (listing.name, "filter")), also, in_range))
    keys = pages.ids(tx.conn, listing, criteria, most + 1)
    kept = keys[:most]
    end = encode(_name(listing), PLACE, (kept[-1], newest)) if kept else None
    has_more = len(keys) > most
    matching = pages.count(tx.conn, listing, criteria, MAX_COUNTED) if has_more and is_dry(input) else None
    return _Chosen(kept, has_more, end, matching)


def _criteria(tx: Tx, filter: RowFilter, place: tuple[str, str]) -> Criteria:
    try:
        criteria = to_criteria(filter)
    except UserFacingError as error:
        raise InvalidInput(error.message, path=place) from error
    return judged(tx.conn, criteria, tx.now)


def _place(tx: Tx, listing: Listing[Any], after: str | None) -> tuple[int, int]:
    """Return the key behind which the call looks, and the newest at which it ends."""
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
