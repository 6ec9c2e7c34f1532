"""Events of changes, which every node publishes and every subscriber reads in one order."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self, cast
from zlib import crc32

from .base.errors import InvalidInput
from .states import RunState


class EventKind(StrEnum):
    """The kinds of change; ``RESYNC`` is made for one subscriber that must reload."""

    TASK_CREATED = "task_created"
    TASK_UPDATED = "task_updated"
    TASK_DELETED = "task_deleted"
    RUN_CREATED = "run_created"
    RUN_UPDATED = "run_updated"
    EXECUTION_STARTED = "execution_started"
    EXECUTION_FINISHED = "execution_finished"
    STEP_FINISHED = "step_finished"
    OCCURRENCE_SKIPPED = "occurrence_skipped"
    NODE_STARTED = "node_started"
    NODE_UPDATED = "node_updated"
    NODE_STOPPED = "node_stopped"
    GROUP_UPDATED = "group_updated"
    FLOW_CREATED = "flow_created"
    FLOW_UPDATED = "flow_updated"
    ALARM_FIRED = "alarm_fired"
    ALARM_RESOLVED = "alarm_resolved"
    ALARM_UPDATED = "alarm_updated"
    CHANNEL_UPDATED = "channel_updated"
    WEBHOOK_UPDATED = "webhook_updated"
    DELIVERIES_UPDATED = "deliveries_updated"
    FAILURES_UPDATED = "failures_updated"
    RESYNC = "resync"


@dataclass(frozen=True, slots=True)
class Change:
    """One change as it is stored in the outbox, with the ids needed to filter it and to read the changed thing.

    ``state`` is the run's state, the execution's outcome or the webhook's state right after the change; ``step`` the
    label of a step, ``alarm`` the name of an alarm, ``channel`` that of a channel, ``webhook`` that of a webhook,
    ``fingerprint`` that of a group of failures.
    """

    kind: EventKind
    task_id: int | None = None
    task_name: str | None = None
    run_id: int | None = None
    execution_id: int | None = None
    job_name: str | None = None
    group: str | None = None
    node: str | None = None
    state: str | None = None
    step: str | None = None
    flow_id: int | None = None
    alarm: str | None = None
    firing_id: int | None = None
    webhook: str | None = None
    fingerprint: str | None = None
    channel: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the compact stored form: only set fields."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the change behind a stored form; names that this version does not know are ignored."""
        known: dict[str, Any] = {name: value for name, value in stored.items() if name in cls.__slots__}
        known["kind"] = EventKind(stored["kind"])
        return cls(**known)


DELIVERIES: Final = Change(EventKind.DELIVERIES_UPDATED)
"""Messages of channels and webhooks were recorded, tried or given up; once for all of a transaction."""


CREATED, STARTED, ENDED, STEPS = "created", "started", "ended", "steps"
"""Entries of the outbox that stand for many changes: new runs wait, runs began, runs succeeded, steps ended."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Many changes of one kind, stored as one entry; see ``spread`` for the listed facts about each run.

    Attributes:
        entry: ``CREATED``, ``STARTED``, ``ENDED`` or ``STEPS``.
        runs: The listed facts.
        suspended: Of new runs: they do not wait, but are suspended.
        flow_id: Of new runs: the flow that all of them belong to.
    """

    entry: str
    runs: Sequence[Sequence[Any]]
    node: str | None = None
    suspended: bool = False
    flow_id: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the stored form: only set fields."""
        stored: dict[str, Any] = {self.entry: self.runs}
        if self.node is not None:
            stored["node"] = self.node
        if self.suspended:
            stored["suspended"] = True
        if self.flow_id is not None:
            stored["flow"] = self.flow_id
        return stored


def spread(stored: Iterable[Mapping[str, Any]]) -> Iterator[Change]:
    """Yield the changes behind the entries of an outbox row, in order.

    An entry ``started`` or ``ended`` lists runs as ``[run, execution, job, group, task, task's name]``, those of flows
    with the flow behind it; each of them is two changes: of the run and of its execution. An entry ``created`` lists
    runs as ``[run, job, group]``, several that are alike also as ``[[run, …], job, group]``, and those of tasks as
    ``[run, job, group, task, task's name]``; its ``flow`` is that of all of them. An entry ``steps`` lists steps as
    ``[run, job, group, task, task's name, step, state]``.
    """
    for entry in stored:
        if STARTED in entry:
            for listed in entry[STARTED]:
                yield _of_listed(EventKind.RUN_UPDATED, listed, entry["node"], RunState.RUNNING)
                yield _of_listed(EventKind.EXECUTION_STARTED, listed, entry["node"], RunState.RUNNING)
        elif ENDED in entry:
            for listed in entry[ENDED]:
                yield _of_listed(EventKind.EXECUTION_FINISHED, listed, entry["node"], RunState.SUCCESS)
                yield _of_listed(EventKind.RUN_UPDATED, listed, entry["node"], RunState.SUCCESS)
        elif CREATED in entry:
            state = RunState.SUSPENDED if entry.get("suspended") else RunState.WAITING
            yield from _of_created(entry[CREATED], state, entry.get("flow"))
        elif STEPS in entry:
            for run, job_name, group, task_id, task_name, step, state in entry[STEPS]:
                about = (None, job_name, group, entry.get("node"), state, step)
                yield Change(EventKind.STEP_FINISHED, task_id, task_name, run, *about)
        else:
            yield Change.from_json(entry)


_KINDS: Final = frozenset(EventKind)


def placed(stored: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, Change]]:
    """Yield the changes with their places in the row; those of a kind that only newer nodes know are passed over."""
    place = 0
    for entry in stored:
        known = [entry] if entry.get("kind") in _KINDS or "kind" not in entry else []
        for change in spread(known):
            yield place, change
            place += 1
        place += not known


def _of_created(listed: Iterable[Sequence[Any]], state: RunState, flow_id: int | None) -> Iterator[Change]:
    for run, job_name, group, *task in listed:
        task_id, task_name = task or (None, None)
        about = (None, job_name, group, None, state.value, None, flow_id)
        for run_id in cast("list[int]", run) if isinstance(run, list) else (run,):
            yield Change(EventKind.RUN_CREATED, task_id, task_name, run_id, *about)


def created(runs: Iterable[tuple[int, str, str]]) -> Listed:
    """Return the events of new runs without a task, each given as id, job and group; equal ones are listed together."""
    alike: dict[tuple[str, str], list[int]] = {}
    for run_id, job_name, group in runs:
        alike.setdefault((job_name, group), []).append(run_id)
    return Listed(CREATED, [(ids if len(ids) > 1 else ids[0], *about) for about, ids in alike.items()])


def _of_listed(kind: EventKind, listed: Sequence[Any], node: str, state: RunState) -> Change:
    run, execution, job_name, group, task_id, task_name, *flow = listed
    about = None if kind is EventKind.RUN_UPDATED else execution
    # The outcome of an execution that succeeded is called as the state of its run is.
    return Change(kind, task_id, task_name, run, about, job_name, group, node, state.value, None, *flow)


_CURSOR = re.compile(r"(\d{1,18})\.(\d{1,9})(?:\.([0-9a-f]{8}))?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Cursor:
    """A place in the one order of events: the number of the published batch and the place within it.

    Its text form ``seq.index.mark`` is opaque to clients; ``Cursor(0, 0)`` is before everything.

    Attributes:
        seq: The number of the batch.
        index: The place within it.
        mark: Distinguishes the batch from another one of its number: after a restore, or a failover to a standby that
            lacked the end, numbers are given out again. None = not known; it counts for no comparison.
    """

    seq: int
    index: int
    mark: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        place = f"{self.seq}.{self.index}"
        return place if self.mark is None else f"{place}.{self.mark}"

    def contradicts(self, other: Self) -> bool:
        """Return whether the two are of the same number, and of different batches."""
        return self.seq == other.seq and None not in (self.mark, other.mark) and self.mark != other.mark

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the cursor behind its text form.

        Raises:
            InvalidInput: ``text`` is not a cursor that this server gave out.
        """
        found = _CURSOR.fullmatch(text)
        if found is None:
            raise InvalidInput(
                f"after: must be an event cursor such as '1204.3.5f0c77a1', got {text[:40]!r}; "
                "take it from 'cursor' of an event or from 'asOf'",
                path=("after",),
            )
        seq, index, mark = found.groups()
        return cls(int(seq), int(index), mark)


def mark_of(batch_id: int, at: datetime) -> str:
    """Return a mark that distinguishes a batch of events from its namesake in another history of the database."""
    return f"{crc32(f'{batch_id} {at.timestamp():.6f}'.encode()):08x}"


@dataclass(frozen=True, slots=True)
class Event:
    """A published change with its cursor and the database time of the transaction that made it."""

    cursor: Cursor
    at: datetime
    change: Change


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Select events for a subscriber; an empty filter lets everything pass. All given conditions must hold."""

    kinds: frozenset[EventKind] = frozenset()
    job_name: str | None = None
    task_name: str | None = None
    run_id: int | None = None
    group: str | None = None
    flow_id: int | None = None

    def matches(self, change: Change) -> bool:
        """Return whether ``change`` passes; ``RESYNC`` always does."""
        if change.kind is EventKind.RESYNC:
            return True
        return (
            (not self.kinds or change.kind in self.kinds)
            and (self.job_name is None or change.job_name == self.job_name)
            and (self.task_name is None or change.task_name == self.task_name)
            and (self.run_id is None or change.run_id == self.run_id)
            and (self.group is None or change.group == self.group)
            and (self.flow_id is None or change.flow_id == self.flow_id)
        )
