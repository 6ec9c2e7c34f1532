"""Limit waiting runs: judge new ones before they are enqueued, and skip those that have to give way.

Counted are runs that have never begun, apart from those of flows, which are put into the queue whole. Who enqueues into
a line that has a cap keeps others from enqueueing there until the commit, so that no two count the same free place.

An application may keep such a transaction open as long as it likes, so the engine's own work waits for none: a
due task is left for a moment (``task_caps``), and follow-ups of an end go into a busy line uncounted. The next enqueue
into that line counts it.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, false, func, select, update

from ...core.admission.caps import Cap, Full, Line, Verdict, Waiter, WhenFull, dropped_sentence, judge, needed
from ...core.base.errors import InvalidState
from ...core.defaults import JobDefaults, value_of
from ...core.model import NewRun, SkipReason, Trigger
from ...core.occurrences import Skip
from ...core.states import RunState
from ...store.db import dialect
from ...store.db.functions import sql_literals
from ...store.db.transaction import Tx, Wake
from ...store.schema.tables import queue_group as g
from ...store.schema.tables import run as r
from ...store.statements import tasks as stored_tasks
from ...store.statements.groups import UNBEGUN_STATES, of_line, unbegun
from ...store.statements.groups import caps as caps_of_groups
from ...store.statements.runs import run_from, select_runs
from ..base import runs as run_store
from ..base import statements
from ..base.changes import run_change
from ..base.skips import record_drop

_TRIES: Final = 10
"""Number of tries: the oldest waiting run may be claimed between two statements; then the next is tried."""
MOST_LOCKS: Final = 200
"""An enqueue into more lines keeps all others from enqueueing into any: the locks of a server are bounded."""


class Capped:
    """New runs and the lines with caps in which each is counted, in their order; none: no cap concerns any of them."""

    def __init__(self, asked: Sequence[tuple[Line, ...]], caps: Mapping[Line, Cap]) -> None:
        self.asked = asked
        self.caps = caps

    def __bool__(self) -> bool:
        return bool(self.caps)

    def never_refusing(self) -> "Capped":
        """Return the same, but with runs dropped that would be refused: there is no caller who could get the error."""
        return Capped(self.asked, {line: cap.never_refusing() for line, cap in self.caps.items()})

    def within(self, lines: Collection[Line]) -> "Capped":
        """Return the same for these lines alone; in all others nothing is counted."""
        asked = [tuple(line for line in each if line in lines) for each in self.asked]
        return Capped(asked, {line: cap for line, cap in self.caps.items() if line in lines})


def capped(conn: Connection, runs: Sequence[NewRun], defaults: Mapping[str, JobDefaults], *, any_group: bool) -> Capped:
    """Return the lines in which new runs are counted.

    Args:
        runs: They have their keys already; a group that they inherit is said.
        defaults: Their jobs' defaults, as far as they inherit anything.
        any_group: Whether any group at all may have a cap.
    """
    groups = [value_of(defaults[run.job_name], "group") if "group" in run.inherits else run.group for run in runs]
    of_groups = caps_of_groups(conn, set(groups)) if any_group else {}
    of_keys = [None if run.cap is None else (Line(run.job_name, run.cap_key or ""), run.cap) for run in runs]
    return lines_of(zip(of_keys, groups, strict=True), of_groups)


def lines_of(each: Iterable[tuple[tuple[Line, Cap] | None, str]], of_groups: Mapping[str, Cap]) -> Capped:
    """Return the lines in which runs are counted, by the line and cap of their key and by their group."""
    asked: list[tuple[Line, ...]] = []
    caps: dict[Line, Cap] = {}
    for of_key, group in each:
        lines: tuple[Line, ...] = ()
        if of_key is not None:
            lines, caps[of_key[0]] = (of_key[0],), of_key[1]
        if group in of_groups:
            line = Line(None, group)
            lines, caps[line] = (*lines, line), of_groups[group]
        asked.append(lines)
    return Capped(asked, caps)


class Room:
    """Hold the runs that wait in some lines, into which nobody else enqueues before the commit.

    Args:
        new: The runs that are to be enqueued.
        is_ours: Whether nobody else enqueues there already.
    """

    def __init__(self, conn: Connection, new: Capped, *, is_ours: bool = False) -> None:
        self._conn = conn
        self.new = new
        self._wanted = Counter(line for lines in new.asked for line in lines)
        if not is_ours:
            _lock(conn, new.caps)
        self._waiting = self._count()

    @property
    def suffices(self) -> bool:
        """Return whether there is room for all of the new runs."""
        caps = self.new.caps
        return all(self._waiting[line] + count <= caps[line].limit for line, count in self._wanted.items())

    def full(self, line: Line) -> Full:
        """Return the line with the number of runs that wait in it."""
        return Full(line, self._waiting[line])

    def verdict(self, asked: Sequence[tuple[Line, ...]], but: Collection[int] = ()) -> Verdict:
        """Decide about new runs with these lines; the stored ones that give way are locked.

        Args:
            but: Runs of this transaction, which are the new ones and not counted.

        Raises:
            InvalidState: others take the places of those that should give way, all the time.
        """
        caps, oldest = self.new.caps, dict[Line, Sequence[Waiter]]()
        for _ in range(_TRIES):
            verdict = judge(asked, caps, self._waiting, oldest)
            if not verdict.is_short:
                return verdict
            full = [line for line, count in self._wanted.items() if self._waiting[line] + count > caps[line].limit]
            oldest = {
                line: self._oldest(line, needed(len(asked)), but)
                for line in full
                if caps[line].when_full is WhenFull.DROP_OLDEST
            }
            self._waiting = self._count(but)
        raise InvalidState("queue full: the runs in a full queue change too fast; try again", path=())

    def _count(self, but: Collection[int] = ()) -> dict[Line, int]:
        """Return how many runs wait in each line, counted only as far as it matters."""
        of_jobs = defaultdict[str, list[str]](list)
        for line in self._wanted:
            if line.job_name is not None:
                of_jobs[line.job_name].append(line.name)
        several = {name: keys for name, keys in of_jobs.items() if len(keys) > 1}
        counted = {line: count for name, keys in several.items() for line, count in self._by_key(name, keys, but)}
        most = {line: self.new.caps[line].limit + count for line, count in self._wanted.items()}
        rest = {line: limit for line, limit in most.items() if line.job_name not in several}
        return {
            **dict.fromkeys(self._wanted, 0),
            **counted,
            **{line: self._counted(line, limit, but) for line, limit in rest.items()},
        }

    def _by_key(self, job_name: str, keys: Sequence[str], but: Collection[int]) -> Iterator[tuple[Line, int]]:
        counted = select(r.c.cap_key, func.count()).where(
            r.c.job_name == job_name, r.c.cap_key.in_(keys), r.c.state.in_(sql_literals(UNBEGUN_STATES)), *unbegun(but)
        )
        for key, count in self._conn.execute(counted.group_by(r.c.cap_key)):
            yield Line(job_name, key), count

    def _counted(self, line: Line, limit: int, but: Collection[int]) -> int:
        found = (some.limit(limit).subquery() for some in of_line(select(r.c.id), line, but))
        return sum(self._conn.execute(select(func.count()).select_from(some)).scalar_one() for some in found)

    def _oldest(self, line: Line, count: int, but: Collection[int]) -> list[Waiter]:
        """Return the runs that wait longest in a line and that nobody else is changing, locked until the commit."""
        columns: list[Any] = [r.c.id, r.c.job_name, r.c.cap_key, r.c.group_name]
        chosen: Any = select(*columns)
        first = (
            some.order_by(r.c.id).limit(count).with_for_update(of=r, skip_locked=True)
            for some in of_line(chosen, line, but)
        )
        rows = [row for some in first for row in self._conn.execute(some)]
        return [Waiter(row.id, self._lines(row)) for row in sorted(rows, key=lambda row: row.id)[:count]]

    def _lines(self, row: Any) -> tuple[Line, ...]:
        own = (Line(row.job_name, row.cap_key or ""), Line(None, row.group_name))
        counted = own[1:] if row.cap_key is None else own
        return tuple(line for line in counted if line in self._wanted)


def free_lines(conn: Connection, lines: Collection[Line]) -> set[Line]:
    """Lock these lines against enqueueing until the commit, except those that others hold; return the locked ones."""
    if not dialect.is_postgresql(conn):
        return set(lines)
    names = {_name(line): line for line in lines}
    rows = statements.execute(conn, "try_lock_lines", {"lines": list(names), "all": len(names) > MOST_LOCKS})
    return {names[row.name] for row in rows if row.held}


def _name(line: Line) -> str:
    return f"{line.job_name or ''} {line.name}"


def _lock(conn: Connection, lines: Collection[Line]) -> None:
    """Keep others from enqueueing into these lines until the commit."""
    if dialect.is_postgresql(conn):
        names = sorted(map(_name, lines))
        statements.execute(conn, "lock_lines", {"lines": names, "all": len(names) > MOST_LOCKS}).all()
    begin_writing(conn)


def begin_writing(conn: Connection) -> None:
    """Begin the transaction on SQLite, as a change does: there is no other writer until its end.

    A savepoint before that would be a transaction of its own, and its release the commit.
    """
    if not dialect.is_postgresql(conn):
        conn.execute(update(g).where(false()).values(name=g.c.name))


def drop(tx: Tx, replaced: Mapping[int, Line], caps: Mapping[Line, Cap], *, node: str | None = None) -> None:
    """Skip runs of full lines that have never begun, and are locked or of this transaction."""
    if not replaced:
        return
    found = tx.conn.execute(select_runs().where(r.c.id.in_(sorted(replaced))).order_by(r.c.id))
    runs = [run_from(row) for row in found]
    owners = stored_tasks.by_ids(tx.conn, sorted({run.task_id for run in runs if run.task_id is not None}))
    for line in sorted(set(replaced.values()), key=repr):
        ids = [run.id for run in runs if replaced[run.id] == line]
        run_store.skip(tx.conn, ids, dropped_sentence(line, caps[line]), tx.now, SkipReason.QUEUE_FULL)
    for run in runs:
        task = owners.get(run.task_id or 0)
        if task is not None and run.scheduled_for is not None and run.trigger is Trigger.SCHEDULE:
            policy = {**policy_of(replaced[run.id], caps), "dropped": "run"}
            skip = Skip(SkipReason.QUEUE_FULL, run.scheduled_for, run.scheduled_for, 1, policy)
            record_drop(tx, task, skip, node=node, run_id=run.id)
    tx.emit(run_change(run, RunState.SKIPPED, node=node) for run in runs)
    tx.wake(Wake.EVENTS)


def policy_of(line: Line, caps: Mapping[Line, Cap]) -> dict[str, Any]:
    """Return the reason for which an occurrence was skipped."""
    cap = caps[line]
    where = {"group": line.name} if line.job_name is None else {"key": line.name}
    return {
        **{name: value for name, value in where.items() if value},
        "cap": cap.limit,
        "whenFull": cap.when_full.value,
    }
