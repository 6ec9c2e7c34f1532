"""The jobs ``bulk_action`` and ``undo_bulk_action``: one change of many runs, portion by portion.

The bulk action is the run of its job: it has progress, can be cancelled, and survives its node. Each portion is a step
that keeps the ids of the changed runs, by which the action is undone. It is stored in the transaction that changes
them, with the progress, so that no portion is done twice, nor done and not known.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from ..base.context import JobContext, StopReason
from ..base.outcomes import Cancel, PermanentFailure, Result, Snooze
from ..base.steps import current_step
from ..core.base.times import counted
from ..core.model import Json
from ..core.steps import StepEnd
from ..queue.steps import store_within
from ..store.db.transaction import Tx
from .graphql_request import ApiError, ask

BULK_ACTION: Final = "bulk_action"
LABEL: Final = "bulk-action"
"""Label of the runs that a bulk action makes; its value is the id of the bulk action."""
PORTION: Final = 200
"""Runs per transaction: as many as the answer of a mutation names."""
STEPS_READ: Final = 100

Action = Annotated[
    Literal["cancel", "retry", "makeDue", "high", "low"],
    Field(description="The change: `makeDue` ends the waiting for a time; `high` and `low` set the priority."),
]
RunFilter = Annotated[
    dict[str, Json],
    Field(description="A `RunFilter` as the API has it. Runs that are enqueued later than this one never match."),
]
All = Annotated[bool, Field(description="Choose all runs if `filter` is empty; unless it is true, that is refused.")]
Reason = Annotated[str, Field(max_length=900, description="Of `cancel`: why; shown to others.")]
ExcludeRetried = Annotated[
    bool, Field(alias="excludeRetried", description="Of `retry`: leave out runs that another run retries already.")
]
BulkRun = Annotated[int, Field(ge=1, description="The id of the run of `bulk_action`.")]


@dataclass(frozen=True, slots=True)
class _Change:
    """A mutation of many runs, with the part of its input that is the same for all portions."""

    mutation: str
    input: Mapping[str, Json]
    done: str

    def document(self) -> str:
        """Return the document that changes a portion."""
        kind = self.mutation[0].upper() + self.mutation[1:]
        fields = "count errors { message }"
        return f"mutation Portion($input: {kind}Input!) {{ {self.mutation}(input: $input) {{ {fields} }} }}"


def _change_of(action: str, run_id: int, reason: str = "", *, exclude_retried: bool = True) -> _Change:
    if action == "cancel":
        why = f"bulk action {run_id}" + (f": {reason}" if reason else "")
        return _Change("cancelRuns", {"reason": why}, "cancelled or asked to stop")
    if action == "retry":
        given: dict[str, Json] = {"excludeRetried": exclude_retried, "labels": {LABEL: str(run_id)}}
        return _Change("retryRuns", given, "retried")
    if action == "makeDue":
        return _Change("retryRunsNow", {}, "made due")
    return _Change("setRunPriorities", {"priority": action.upper()}, f"set to {action} priority")


async def bulk_action(
    context: JobContext,
    action: Action,
    filter: RunFilter,
    all: All = False,
    reason: Reason = "",
    exclude_retried: ExcludeRetried = True,
) -> Result:
    """Changes all runs that match a filter, 200 at a time, with progress; cancelling it stops it.

    `undo_bulk_action` takes the change back. The runs that `retry` makes have the label `bulk-action` with its id.
    """
    change = _change_of(action, context.run_id, reason, exclude_retried=exclude_retried)
    older: dict[str, Json] = {"id": {"lt": str(context.run_id)}}
    runs: dict[str, Json] = {"filter": {"and": [filter, older]} if filter or not all else older}
    given = {**change.input, "runs": runs}
    total = await context.step("count", _count, context, change, given)
    work = _Work(context, change, total)
    after: Json = None
    while True:
        part = await work.portion({**given, "after": after, "first": PORTION})
        if not part["hasMore"]:
            return work.result()
        after = part["endCursor"]


_OPPOSITE: Final = {"cancel": "retry", "retry": "cancel", "high": "low", "low": "high"}
_AS_LEFT: Final[Mapping[str, Mapping[str, Json]]] = {
    "cancel": {"state": {"eq": "CANCELLED"}},
    "retry": {"attempt": {"eq": 0}},
}
"""Conditions that hold for the runs of an action as long as they have neither started nor ended since."""
_STEPS: Final = """query Steps($id: ID!, $first: Int!, $after: String) { run(id: $id) { jobName finishedAt args
  steps(first: $first, after: $after) { nodes { name isLatest state value } pageInfo { hasNextPage endCursor } } } }"""


async def undo_bulk_action(context: JobContext, run: BulkRun) -> Result:
    """Takes a finished bulk action back: retries the runs it cancelled, cancels the runs it made, or resets priorities.

    Runs that have started or ended since are left as they are.
    """
    action, portions = await _portions_of(context, run)
    change = _change_of(_OPPOSITE[action], context.run_id, f"bulk action {run} is undone")
    among = _AS_LEFT.get(action, {})
    work = _Work(context, change, sum(map(len, portions)))
    for ids in filter(None, portions):
        await work.portion({**change.input, "runs": {"filter": {"id": {"in": [*ids]}, **among}}})
    return work.result()


async def _portions_of(context: JobContext, run_id: int) -> tuple[str, list[list[str]]]:
    """Return the action of a bulk action, and the ids of the runs that each of its portions changed.

    Raises:
        PermanentFailure: nothing can be undone.
    """
    portions: list[list[str]] = []
    after: Json = None
    while True:
        page: dict[str, Json] = {"id": str(run_id), "first": STEPS_READ, "after": after}
        found = (await ask(context, _STEPS, page))["run"]
        if found is None or found["jobName"] != BULK_ACTION:
            raise PermanentFailure(f"run {run_id} is no bulk action")
        if found["finishedAt"] is None:
            raise PermanentFailure(f"bulk action {run_id} has not ended; cancel it first, or wait for its end")
        if found["args"]["action"] not in _OPPOSITE:
            raise PermanentFailure(f"bulk action {run_id} made runs due, which cannot be undone")
        steps = found["steps"]
        done = [one for one in steps["nodes"] if one["isLatest"] and one["state"] == "DONE"]
        portions += [one["value"]["ids"] for one in done if one["name"] == "portion"]
        if not steps["pageInfo"]["hasNextPage"]:
            return found["args"]["action"], portions
        after = steps["pageInfo"]["endCursor"]


async def _count(context: JobContext, change: _Change, given: dict[str, Json]) -> int:
    """Return the number of matching runs; a faulty filter ends the bulk action before it has begun."""
    try:
        answer = await ask(context, change.document(), {"input": {**given, "dryRun": True}})
    except ApiError as error:
        raise PermanentFailure(str(error)) from error
    return int(answer[change.mutation]["count"])


class _Work:
    """Do the portions of a bulk action, show how far it is, and stop when asked to."""

    def __init__(self, context: JobContext, change: _Change, total: int) -> None:
        self._context = context
        self._change = change
        self._total = total
        self._done = 0

    async def portion(self, given: dict[str, Json]) -> Json:
        """Change a portion, once even if this attempt is lost; return its answer.

        Raises:
            Cancel: the bulk action was cancelled.
            Snooze: the node shuts down; another one goes on.
        """
        self._stop_if_asked()
        step = asyncio.ensure_future(self._context.step("portion", self._changed, given))
        while not step.done():
            # Who is cancelled now would not know what is being committed.
            with suppress(asyncio.CancelledError):
                await asyncio.wait([step])
        found: Json = step.result()
        self._done += found["count"]
        self._context.progress(**self._progress(self._done))
        return found

    def _progress(self, done: int) -> dict[str, Any]:
        return {"done": done, "total": max(self._total, done), "message": self._change.done}

    async def _changed(self, given: dict[str, Json]) -> dict[str, Json]:
        label, began = current_step.get() or "", datetime.now(UTC)
        found: dict[str, Json] = {}

        def keep(tx: Tx, answer: Json) -> None:
            # A retry answers the unfinished run that has the unique key: that one is of others.
            others = answer.get("deduplicated") or [False] * len(answer["runs"])
            own = [str(one) for one, is_others in zip(answer["runs"], others, strict=True) if not is_others]
            found.update({name: answer[name] for name in ("hasMore", "endCursor")})
            found.update(count=answer["count"] - (len(others) - len(own)), ids=own)
            info, end = self._context.info, StepEnd(label, began, datetime.now(UTC), value=dict(found))
            store_within(tx, info.run_id, info.attempt, end, self._progress(self._done + found["count"]))

        await ask(self._context, self._change.document(), {"input": given}, also=keep)
        return found

    def _stop_if_asked(self) -> None:
        reason = self._context.stop_reason
        if reason is StopReason.CANCEL:
            raise Cancel(f"stopped after {self._done:,} of {counted(self._total, 'run')}")
        if reason is not None:
            raise Snooze(0)

    def result(self) -> Result:
        """Return the counts of the bulk action."""
        return Result(self._done, {"changed": self._done, "matched": self._total, "done": self._change.done})
