"""One transaction: its connection, its time, its changes, and whom to wake once it is committed."""

import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Flag, auto

from sqlalchemy import Connection

from ...core.actor import FILE, Actor, Record
from ...core.arguments.judging import KnownCode, no_code
from ...core.arguments.revisions import Revised, differing
from ...core.events import Change, Listed
from ...core.model import Json
from . import dialect


@dataclass(slots=True)
class Usage:
    """Written by the part itself, read from any thread.

    Attributes:
        part: Which part, e.g. ``"api"``.
        reads: Transactions that read.
        writes: Transactions that wrote.
        statements: Statements that were transactions of their own.
    """

    part: str
    reads: int = 0
    writes: int = 0
    statements: int = 0


@dataclass(frozen=True, slots=True)
class Pool:
    """Connections of one part.

    Attributes:
        in_use: How many of them are used now.
        size: How many there may be.
    """

    in_use: int
    size: int


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """The state of the standby, as one process sees it.

    Attributes:
        in_use: Whether it answers reads.
        lag: Seconds by which it is behind the database; None = it cannot be asked.
        reason: The reason why the database answers in its place; None while it is in use.
        said: The message of the driver behind the reason, which may name the address; None = there is none.
    """

    in_use: bool
    lag: float | None
    reason: str | None
    said: str | None


Clock = Callable[[], datetime]


class Wake(Flag):
    """Whom a commit concerns.

    ``TASKS``: due times changed (the alarm is set again). ``RUNS``: something may be claimable.
    ``CANCEL``: a running run was asked to stop. ``EVENTS``: events wait to be published.
    ``GROUPS``: a group was paused or limited. ``NODES``: a node was asked to drain. ``LOGS``: log lines were written.
    ``RIGHTS``: a credential may allow less than before. ``PLACES``: a run that kept the place of its concurrency key
    has ended, and no node executed it. ``REMOTE``: an attempt at an engine has ended, or needs a node.
    """

    NONE = 0
    TASKS = auto()
    RUNS = auto()
    CANCEL = auto()
    EVENTS = auto()
    GROUPS = auto()
    NODES = auto()
    LOGS = auto()
    RIGHTS = auto()
    PLACES = auto()
    REMOTE = auto()


@dataclass(slots=True)
class Tx:
    """A write transaction. Store functions take its ``conn``; actions read ``now`` and record their changes.

    Attributes:
        conn: The open connection; its maker commits it.
        clock: Replaces the database's time, in tests that set the clock.
        changes: Recorded by ``emit``; written as one event row at the end.
        wakes: Recorded by ``wake``; acted on after the commit.
        actor: Who asked for the transaction; None = the engine itself.
        records: Recorded by ``record``; written into the audit log at the end.
        known_code: Judges arguments by the code of jobs that this process has.
        before: Noted by ``note_before``: each thing's values before it was changed.
        operation: The mutation that the transaction is for; names the revisions that it makes.
    """

    conn: Connection
    clock: Clock | None = None
    changes: list[Change | Listed] = field(default_factory=list[Change | Listed])
    wakes: Wake = Wake.NONE
    actor: Actor | None = None
    records: list[Record] = field(default_factory=list[Record])
    known_code: KnownCode = no_code
    before: dict[str, Json] = field(default_factory=dict[str, Json])
    operation: str | None = None
    _now: datetime | None = None
    _asked_at: float = 0.0

    @property
    def now(self) -> datetime:
        """The database's time, asked once per transaction, so that all it writes carries one time."""
        if self._now is None:
            self._now = self.clock() if self.clock is not None else dialect.database_now(self.conn)
            self._asked_at = time.monotonic()
        return self._now

    @property
    def by(self) -> str:
        """The name of who asked for it; empty = the engine itself, or a file that it applies."""
        return "" if self.actor is None or self.actor is FILE else self.actor.name

    def monotonic(self, at: datetime) -> float:
        """Return ``time.monotonic()`` of this machine when it is ``at`` by the database's time, or a little later.

        The bit is the time that the answer took to arrive: a look at that time is not too early.
        """
        return (at - self.now).total_seconds() + self._asked_at

    @property
    def own_now(self) -> datetime | None:
        """The time in a process with a clock of its own; None where the database does."""
        return self.now if self.clock is not None or not dialect.is_postgresql(self.conn) else None

    def learn_now(self, now: datetime | None) -> None:
        """Take the database's time from a statement that brought it along, instead of asking for it."""
        if now is not None and self._now is None and self.clock is None:
            self._now, self._asked_at = now, time.monotonic()

    def emit(self, changes: Iterable[Change | Listed]) -> None:
        """Record changes; subscribers see them in this order once the transaction is committed."""
        self.changes.extend(changes)
        if self.changes:
            self.wakes |= Wake.EVENTS

    def wake(self, whom: Wake) -> None:
        """Wake ``whom`` on every node after the commit."""
        self.wakes |= whom

    @contextmanager
    def undone(self) -> Generator[None]:
        """Run the block's statements as a trial, which the database judges like any others, and take them back."""
        with self._taking_back() as take_back:
            try:
                yield
            finally:
                take_back()

    @contextmanager
    def savepoint(self) -> Generator[Callable[[], None]]:
        """Take back the block's changes if it raises; the error is raised, and the transaction goes on.

        Yields:
            A function by which the block may take back its changes without raising; it must do nothing afterwards.
        """
        with self._taking_back() as take_back:
            try:
                yield take_back
            except BaseException:
                take_back()
                raise

    @contextmanager
    def _taking_back(self) -> Generator[Callable[[], None]]:
        changes, records, before, wakes = len(self.changes), len(self.records), dict(self.before), self.wakes
        nested = self.conn.begin_nested()

        def take_back() -> None:
            nested.rollback()
            del self.changes[changes:], self.records[records:]
            self.before, self.wakes = before, wakes

        yield take_back
        if nested.is_active:
            nested.commit()

    def note_before(self, subject: str, **values: Json) -> None:
        """Note a thing's values before a change, for the record of the change."""
        self.before.setdefault(subject, dict(values))

    def record(self, action: str, subject: str | None = None, *, before: Json = None, after: Json = None) -> None:
        """Put a change into the audit log; the engine's own work is in the execution log and not there."""
        if self.actor is not None:
            self.records.append(Record(self.actor, action, subject, before, after))

    def revise(
        self,
        thing: Revised,
        before: Mapping[str, Json] | None,
        after: Mapping[str, Json] | None,
        *,
        actor: Actor | None = None,
    ) -> None:
        """Put the fields of a thing that differ into the audit log, as a revision of it.

        Two changes of one thing, one after the other, are one revision.

        Args:
            thing: The changed thing.
            before: All of its fields before; None if it is new.
            after: All of its fields now; None if it is gone.
            actor: Who did it, unless it is who asked for the transaction.
        """
        by = actor or self.actor
        was, now = differing(before, after)
        if by is None or was == now:
            return
        last = self.records[-1] if self.records else None
        if last is not None and (last.revised, last.subject, last.actor) == (thing.kind.value, thing.name, by):
            self.records[-1] = replace(last, before=_joined(was, last.before), after=_joined(last.after, now))
            return
        action = self.operation or f"{thing.kind.value}.changed"
        self.records.append(Record(by, action, thing.name, was, now, thing.kind.value, thing.job_name))


def _joined(first: Json, then: Json) -> Json:
    """Return the fields of two revisions as one; None where the thing did not exist."""
    joined: dict[str, Json] = dict(first or {})
    return None if then is None else joined | then
