"""Retention and the cleanups of the sign-in: delete rows that are too old or too many, a transaction for each batch."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar, cast

from pydantic import Field

from ..accounts.statements import cleanup as signin
from ..actions import idempotent
from ..base.context import JobContext, services_of
from ..base.outcomes import Result
from ..core.defaults import Keeping
from ..core.model import Json
from ..store.db.database import Connection, Database, DBAPIError
from ..store.db.faults import hindrance
from ..store.db.transaction import Tx
from ..store.statements import archive as stored_archive
from ..store.statements import events
from ..store.statements import prunable as stored_prunable
from ..store.statements import prune as statements
from ..store.statements.blocks import drop_events, drop_executions, drop_runs
from ..store.statements.figures import hours as stored_hours
from ..store.statements.prunable import EVENTS, EXECUTIONS, RUNS, History, OldBlocks, RunPlace
from .archive import Archive, archive_day

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

JOB = "prune_history"
"""The job, and the task that runs it."""
DEFAULT_AGE_DAYS = 30.0
BATCH = 500
"""Rows per transaction: some ten milliseconds of work, in which others wait on SQLite."""

LATE = timedelta(hours=1)
"""A day is archived that long after its end: clocks of nodes may be behind."""
LOG_LINES_BATCH = 5000
IDEMPOTENCY_KEYS_KEPT = timedelta(hours=24)
DEFAULT_AUDIT_DAYS = 365.0

Days = Annotated[float, Field(gt=0, le=36500, description="Days; older history is deleted.")]
PerTask = Annotated[
    Annotated[int, Field(ge=1, le=10**9)] | None,
    Field(description="How many of the newest to keep of each task; unless set, any number."),
]


@dataclass(frozen=True, slots=True)
class Retention:
    """Limit the history.

    Attributes:
        max_age: Runs that ended longer ago are deleted.
        max_per_task: Of each task only so many executions, runs and skipped stretches are kept; None = any number.
        max_audit_age: Entries of the audit log that are older are deleted; the rest can still be proved.
    """

    max_age: timedelta = timedelta(days=DEFAULT_AGE_DAYS)
    max_per_task: int | None = None
    max_audit_age: timedelta = timedelta(days=DEFAULT_AUDIT_DAYS)


@dataclass(slots=True)
class Pruned:
    """Count deleted rows by table; ``complete`` is False when the pruning was stopped before its end."""

    log_lines: int = 0
    executions: int = 0
    runs: int = 0
    flows: int = 0
    events: int = 0
    hours: int = 0
    skipped_occurrences: int = 0
    idempotency_keys: int = 0
    nodes: int = 0
    rate_buckets: int = 0
    audit_entries: int = 0
    complete: bool = field(default=True)

    @property
    def total(self) -> int:
        """All rows deleted."""
        return sum(self.counts().values())

    def counts(self) -> dict[str, int]:
        """Return the counts by the plural name of the deleted things."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "complete"}


async def prune_history(
    context: JobContext,
    max_age_days: Days = DEFAULT_AGE_DAYS,
    max_per_task: PerTask = None,
    max_audit_days: Days = DEFAULT_AUDIT_DAYS,
) -> Result:
    """Deletes old runs, executions, log lines, events, skipped occurrences and entries of the audit log."""
    retention = Retention(timedelta(days=max_age_days), max_per_task, timedelta(days=max_audit_days))
    places, services = Places.from_json(context.checkpoint), services_of(context)
    pruned = await prune(
        services.database,
        retention,
        archive_url=services.archive_url,
        should_stop=lambda: context.should_stop,
        progress=context.progress,
        places=places,
    )
    if places.through:
        await context.save_checkpoint(places.to_json())
    if not pruned.complete:
        context.log.warning("stopped early; the next run deletes the rest", **pruned.counts())
    return Result(records_processed=pruned.total, value=pruned.counts())


async def prune(
    database: Database,
    retention: Retention,
    *,
    archive_url: str | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda _done: None,
    places: "Places | None" = None,
) -> Pruned:
    """Delete the history beyond ``retention``, but no unfinished runs, nothing they need, no task's newest execution.

    Args:
        retention: The limits; the age is counted from the database's time at the beginning.
        archive_url: Where history is written before it is deleted; ``off`` = nowhere from now on, None = unsaid.
        should_stop: Asked between batches; True ends the pruning early.
        progress: Called after every batch with how many rows are deleted so far.
        places: How far an earlier pruning came with history of a shorter time; brought up to date.
    """
    of_history = _Pruning(database, retention, should_stop, progress, Places() if places is None else places)
    return await of_history.run(archive_url)


@dataclass(slots=True)
class Places:
    """Remember up to where runs with a shorter time were looked through, so that none is looked at twice.

    Attributes:
        digest: The settings of jobs and groups then; when they say something else, everything is looked through again.
        through: By each of these times in seconds: runs that finished earlier were looked at.
    """

    digest: str = ""
    through: dict[float, datetime] = field(default_factory=dict[float, datetime])

    @classmethod
    def from_json(cls, stored: Json) -> "Places":
        """Return the places that an earlier run of the job has saved; none if it saved none."""
        if not isinstance(stored, dict):
            return cls()
        saved = cast("dict[str, Any]", stored)
        through: dict[str, str] = saved["through"]
        return cls(saved["digest"], {float(keep): datetime.fromisoformat(at) for keep, at in through.items()})

    def to_json(self) -> dict[str, Json]:
        """Return the form in which they are saved."""
        return {"digest": self.digest, "through": {str(keep): at.isoformat() for keep, at in self.through.items()}}

    def renew(self, digest: str) -> None:
        """Forget them if jobs or groups say something else now."""
        if digest != self.digest:
            self.digest, self.through = digest, {}


class _StoppedError(Exception):
    """Unwinds a pruning that should stop."""


class _Pruning:
    """One pruning, in the order that keeps references whole: log lines, executions, then runs, then the rest."""

    def __init__(
        self,
        database: Database,
        retention: Retention,
        should_stop: Callable[[], bool],
        progress: Callable[[int], None],
        places: Places,
    ) -> None:
        self._database = database
        self._retention = retention
        self._should_stop = should_stop
        self._progress = progress
        self._places = places
        self._pruned = Pruned()

    async def run(self, archive_url: str | None) -> Pruned:
        """Do everything that the retention asks for."""
        now = await self._database.write(_now)
        try:
            kept = await self._read(stored_prunable.keeping, now, self._retention.max_age)
            kept = replace(kept, archived=await self._archive(kept, archive_url))
            before = kept.before
            await self._old_executions(kept)
            await self._walk("flows", statements.delete_old_flows, kept)
            end = await self._old_blocks(RUNS, drop_runs, kept)
            await self._walk("runs", partial(statements.delete_old_runs, end=end), kept)
            await self._briefly_kept(kept)
            if self._retention.max_per_task is not None:
                await self._surplus(self._retention.max_per_task, kept)
            await self._all("skipped_occurrences", statements.delete_old_skips, before)
            end = await self._old_blocks(EVENTS, drop_events, kept)
            await self._all("events", events.prune, before, end)
            await self._all("hours", stored_hours.prune_hours, before)
            await self._all("nodes", statements.delete_old_nodes, before)
            await self._all("rate_buckets", statements.delete_full_buckets, now)
            await self._all("idempotency_keys", idempotent.forget_older, now - IDEMPOTENCY_KEYS_KEPT)
            await self._all("audit_entries", signin.prune, now - self._retention.max_audit_age)
        except _StoppedError:
            self._pruned.complete = False
        return self._pruned

    async def _archive(self, kept: Keeping, url: str | None) -> datetime | None:
        """Archive days of which something may go; return the time from which all stays; None = nothing."""
        done = await self._read(stored_archive.of)
        if url is None:
            if done is not None:
                log.warning(
                    "history is archived at %s, but this node has no archive_url: runs that ended since %s stay until a"
                    " node that has it prunes; archive_url=off ends the archive",
                    done.location,
                    done.through,
                )
            return kept.archived
        if url == "off":
            if await self._write(statements.end_archive):
                log.warning("history is archived no longer")
            return None
        archive = Archive(url)
        day = await self._read(stored_archive.first_day, kept.now) if done is None else done.through
        await self._write(statements.set_archive, archive.location, day)
        until = stored_archive.day_of(min(self._youngest(kept), kept.now - LATE))
        while day < until:
            await archive_day(self._database, archive, day)
            day += stored_archive.DAY
            await self._write(statements.set_archive, archive.location, day)
        return day

    def _youngest(self, kept: Keeping) -> datetime:
        """Return the latest end that can make anything old enough to delete."""
        return kept.now - min((kept.age, *kept.shorter)) if self._retention.max_per_task is None else kept.now

    async def _old_executions(self, kept: Keeping) -> None:
        end = await self._old_blocks(EXECUTIONS, drop_executions, kept)
        after, more = 0, True
        while more:
            step = await self._read(stored_prunable.old_executions, after, end, BATCH, kept)
            await self._executions(step.doomed)
            after, more = step.last, step.more

    async def _old_blocks(
        self,
        history: History,
        drop: Callable[[Connection, OldBlocks, Keeping], Mapping[str, int] | None],
        kept: Keeping,
    ) -> int | None:
        """Drop old blocks on PostgreSQL; return the id from which rows wait for their blocks to age, None = none do."""
        if self._database.is_sqlite:
            return None
        old = await self._read(stored_prunable.old_blocks, history, kept)
        if old.blocks:
            try:
                gone = await self._write(drop, old, kept)
            except DBAPIError as error:
                why = hindrance(error)
                if why is None:
                    raise
                log.warning("old blocks of %s are deleted row by row: %s", history.name, why)
                gone = None
            for name, rows in (gone or {}).items():
                self._count(name, rows)
        return old.spared

    async def _executions(self, ids: list[int]) -> None:
        """Delete these executions, their log lines first."""
        lines = LOG_LINES_BATCH if ids else 0
        while lines == LOG_LINES_BATCH:
            lines = await self._write(statements.delete_log_lines, ids, LOG_LINES_BATCH)
            self._count("log_lines", lines)
        if ids:
            self._count("executions", await self._write(statements.delete_executions, ids))

    async def _walk(self, name: str, delete: Callable[..., tuple[int, RunPlace | None]], kept: Keeping) -> None:
        """Repeat ``delete`` from the beginning to the end of the older history."""
        place: RunPlace | None = RunPlace()
        while place is not None:
            deleted, place = await self._write(delete, place, kept.before, BATCH, kept)
            self._count(name, deleted)

    async def _briefly_kept(self, kept: Keeping) -> None:
        """Delete history that jobs and groups keep for a shorter time, from where the last pruning ended."""
        self._places.renew(kept.digest)
        for keep in kept.shorter:
            seconds = keep.total_seconds()
            place: RunPlace | None = RunPlace(max(kept.before, self._places.through.get(seconds, kept.before)))
            through = kept.before_of(keep)
            while place is not None:
                step = await self._read(stored_prunable.briefly_kept, keep, kept, place, BATCH)
                await self._executions(step.executions)
                if step.runs:
                    self._count("runs", await self._write(statements.delete_bare_runs, step.runs, kept.now))
                place = step.place
                # What is needed no longer by the next pruning is found by it.
                through = through if step.needed is None else min(through, step.needed)
            self._places.through[seconds] = through

    async def _surplus(self, keep: int, kept: Keeping) -> None:
        after = 0
        while tasks := await self._read(stored_prunable.tasks_with_history, after, BATCH):
            for task_id in tasks:
                await self._surplus_of(task_id, keep, kept)
            after = tasks[-1]

    async def _surplus_of(self, task_id: int, keep: int, kept: Keeping) -> None:
        while ids := await self._read(stored_prunable.surplus_executions, task_id, keep, kept.archived, BATCH):
            await self._executions(ids)
        after: int | None = 0
        while after is not None:
            deleted, after = await self._write(statements.delete_surplus_runs, task_id, kept, keep, after, BATCH)
            self._count("runs", deleted)
        await self._all("skipped_occurrences", statements.delete_surplus_skips, task_id, keep, kept.archived)

    async def _all(self, name: str, delete: Callable[..., int], *args: object) -> None:
        """Repeat ``delete(connection, *args, BATCH)`` until a batch is not full."""
        deleted = BATCH
        while deleted == BATCH:
            deleted = await self._write(delete, *args, BATCH)
            self._count(name, deleted)

    async def _read(self, function: Callable[Concatenate[Any, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._go_on()
        return await self._database.read(function, *args, **kwargs)

    async def _write(self, function: Callable[Concatenate[Any, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._go_on()
        return await self._database.write(lambda tx: function(tx.conn, *args, **kwargs))

    def _go_on(self) -> None:
        if self._should_stop():
            raise _StoppedError

    def _count(self, name: str, deleted: int) -> None:
        if deleted:
            setattr(self._pruned, name, getattr(self._pruned, name) + deleted)
            self._progress(self._pruned.total)


def _now(tx: Tx) -> datetime:
    return tx.now


_ROWS = 1000
"""Rows per transaction: a few milliseconds each, so that nobody waits for a lock."""


async def cleanup_expired_sessions(context: JobContext) -> int:
    """Deletes sessions that have expired, API tokens that ended 30 days ago, and forgotten wrong sign-ins."""
    return await _clean(
        context,
        sessions=signin.delete_expired_sessions,
        tokens=signin.delete_dead_tokens,
        failures=signin.delete_forgotten_failures,
    )


async def cleanup_expired_refresh_tokens(context: JobContext) -> int:
    """Deletes families of refresh tokens that have expired or were revoked over 24 hours ago."""
    return await _clean(context, tokens=signin.delete_finished_refresh_families)


async def cleanup_expired_challenges(context: JobContext) -> int:
    """Deletes passkey challenges, one-time links and begun sign-ins by a provider that have expired or were used."""
    return await _clean(
        context,
        challenges=signin.delete_finished_challenges,
        links=signin.delete_finished_links,
        attempts=signin.delete_finished_attempts,
    )


async def cleanup_expired_device_codes(context: JobContext) -> int:
    """Deletes device codes that have expired or were used."""
    return await _clean(context, device_codes=signin.delete_finished_device_codes)


async def _clean(context: JobContext, **cleanups: signin.Cleanup) -> int:
    """Delete batch after batch until nothing is left or the job should stop; return how many rows were deleted."""
    database = services_of(context).database
    deleted = dict.fromkeys(cleanups, 0)
    for name, delete in cleanups.items():
        while batch := 0 if context.should_stop else await database.write(_delete_batch, delete):
            deleted[name] += batch
            context.progress(sum(deleted.values()))
    if context.should_stop:
        context.log.warning("stopped early; the next run deletes the rest", **deleted)
    elif any(deleted.values()):
        context.log.info("deleted what is over", **deleted)
    return sum(deleted.values())


def _delete_batch(tx: Tx, delete: signin.Cleanup) -> int:
    return delete(tx.conn, tx.now, _ROWS)
