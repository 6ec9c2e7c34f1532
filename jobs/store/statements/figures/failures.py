"""Failures grouped by their common traits, and one such group over time, read in SQL."""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Final

from sqlalchemy import ColumnElement, Connection, Subquery, func, literal, literal_column, select, true

from ....core.alarms import FailureMark, FailureState
from ....core.model import FAILURES
from ...db import dialect
from ...db.functions import bucket_start, sql_literals
from ...schema.rows import reader_of
from ...schema.tables import failure_mark, node
from ...schema.tables import job_execution as e
from ...schema.tables import periodic_task as t
from ...schema.types import UtcDateTime
from ..listing.pages import newest_finished_of
from .scope import Scope

MESSAGE_PREFIX = 300
"""Characters of an error's message that failures are grouped by."""
GROUPED = 20_000
"""So many failures are looked at."""
COUNTED: Final = 100_000
"""So many failures are looked at for how many of them are news."""
MOST_NODES: Final = 50
"""Nodes that are named of a group, those with most failures."""

VARYING: Final = re.compile(
    # A node's name, an address, a key, a number.
    r"\b[a-z]+-[a-z]+-\d{2,}\b|0x[0-9a-fA-F]+|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|\b[0-9a-fA-F]{12,}\b|\d+(?:[.:]\d+)*"
)
"""Parts in which messages of one cause differ: names of nodes, numbers, times, addresses, long hexadecimal ids."""


def without_varying(message: str) -> str:
    """Return the message without its varying parts: equal for failures of one cause."""
    return VARYING.sub("#", message)


def fingerprint(job_name: str, error_type: str | None, message: str) -> str:
    """Name the failures of a job with one cause, always in the same way: 16 hexadecimal digits."""
    parts = (job_name, error_type or "", without_varying(message[:MESSAGE_PREFIX]))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class FailureRow:
    """Failures of one job with the same error: how many, first and last start, the newest execution.

    Attributes:
        mark: People's mark on them; None = nothing, or nobody has looked.
        state: The state that follows from the mark.
    """

    job_name: str
    error_type: str | None
    message: str
    count: int
    first: datetime
    last: datetime
    execution_id: int
    mark: FailureMark | None = None
    state: FailureState = FailureState.OPEN

    @property
    def fingerprint(self) -> str:
        """The name of the group that they belong to."""
        return fingerprint(self.job_name, self.error_type, self.message)


@dataclass(frozen=True, slots=True)
class FailureHistory:
    """One group of failures in a span.

    Attributes:
        since: When the first of the failures began that were looked at; None if they were all of the job.
        points: The number by the beginning of the bucket, in seconds since 1970, the oldest first.
        nodes: The number by node, the largest first.
        versions: The number by the signature of the job's version, the largest first; None = it is not known any more.
        ids: The executions, the newest first.
    """

    group: FailureRow
    since: datetime | None
    points: tuple[tuple[int, int], ...]
    nodes: tuple[tuple[str, int], ...]
    versions: tuple[tuple[str | None, int], ...]
    ids: tuple[int, ...]


def _newest(scope: Scope, grouped: int, also: ColumnElement[bool] | None = None) -> Subquery:
    """Return the newest failures of a scope; ``also``: that meet this as well."""
    message = func.substr(e.c.error_message, 1, MESSAGE_PREFIX).label("message")
    return (
        select(e.c.job_name, e.c.error_type, message, e.c.started_at, e.c.id, e.c.node, e.c.node_id)
        .where(
            scope.condition(),
            scope.ids(),
            e.c.success == literal_column("false"),
            e.c.outcome.in_(sql_literals(FAILURES)),
            true() if also is None else also,
        )
        .order_by(e.c.id.desc())
        .limit(grouped)
        .subquery("failed")
    )


def failures(
    conn: Connection, scope: Scope, limit: int, *, grouped: int = GROUPED, also: ColumnElement[bool] | None = None
) -> list[FailureRow]:
    """Return failures of a scope by job and equal error, the most frequent first; ``also``: a further condition.

    Of more than ``grouped`` the newest count: where everything fails, they say enough.
    """
    rows = _newest(scope, grouped, also)
    count = func.count().label("number")
    statement = (
        select(
            rows.c.job_name,
            rows.c.error_type,
            rows.c.message,
            count,
            func.min(rows.c.started_at, type_=UtcDateTime()).label("first"),
            func.max(rows.c.started_at, type_=UtcDateTime()).label("last"),
            func.max(rows.c.id).label("execution_id"),
        )
        .group_by(rows.c.job_name, rows.c.error_type, rows.c.message)
        .order_by(count.desc(), func.max(rows.c.id).desc())
        .limit(limit)
    )
    return [
        FailureRow(row.job_name, row.error_type, row.message, row.number, row.first, row.last, row.execution_id)
        for row in conn.execute(statement)
    ]


def merge_failures(rows: Iterable[FailureRow], limit: int) -> list[FailureRow]:
    """Return rows of equal fingerprints as one, the most frequent first."""
    groups: dict[tuple[str, str | None, str], FailureRow] = {}
    for row in rows:
        key = (row.job_name, row.error_type, without_varying(row.message))
        group = groups.get(key)
        groups[key] = row if group is None else _together(group, row)
    ordered = sorted(groups.values(), key=lambda group: (-group.count, -group.execution_id))
    return ordered[:limit]


def _together(one: FailureRow, other: FailureRow) -> FailureRow:
    newest = max(one, other, key=lambda row: row.execution_id)
    return replace(
        newest,
        count=one.count + other.count,
        first=min(one.first, other.first),
        last=max(one.last, other.last),
    )


def history(
    conn: Connection, scope: Scope, name: str, seconds: int, now: datetime, *, grouped: int = GROUPED
) -> FailureHistory | None:
    """Return the group of failures with this fingerprint, in buckets of ``seconds``; None if no recent one has it."""
    found = next((row for row in failures(conn, scope, grouped, grouped=grouped) if row.fingerprint == name), None)
    if found is None:
        return None
    of_job = replace(scope, job_name=found.job_name)
    job_name, error_type = found.job_name, found.error_type

    @cache
    def belongs(message: str) -> bool:
        return fingerprint(job_name, error_type, message) == name

    rows = [row for row in _members(conn, of_job, error_type, seconds, grouped) if belongs(row.message)]
    if not rows:
        return None
    times = [row.started_at for row in rows]
    of_node = Counter(row.node_id for row in rows)
    known = signatures(conn, of_node)
    versions: Counter[str | None] = Counter()
    for node_id, number in of_node.items():
        versions[known.get(node_id, {}).get(job_name)] += number
    group = replace(
        found,
        message=rows[0].message,
        count=len(rows),
        first=min(times),
        last=max(times),
        execution_id=rows[0].id,
    )
    return FailureHistory(
        marked(conn, [group], now)[0],
        rows[0].since if rows[0].looked_at >= grouped else None,
        tuple(sorted(Counter(row.bucket for row in rows).items())),
        tuple(Counter(row.node for row in rows).most_common(MOST_NODES)),
        tuple(versions.most_common()),
        tuple(row.id for row in rows),
    )


mark_from = reader_of(FailureMark, {"old_versions": lambda stored: None if stored is None else tuple(stored)})


def marks(conn: Connection, names: Collection[str]) -> dict[str, FailureMark]:
    """Return the marks of these groups of failures, by fingerprint."""
    rows = conn.execute(select(failure_mark).where(failure_mark.c.fingerprint.in_(names)))
    return {row.fingerprint: mark_from(row) for row in rows}


def signatures(conn: Connection, node_ids: Collection[int]) -> dict[int, dict[str, str]]:
    """Return the versions of jobs that these nodes have or had, by their ids."""
    rows = conn.execute(select(node.c.id, node.c.signatures).where(node.c.id.in_(node_ids)))
    return {row.id: row.signatures for row in rows}


def marked(conn: Connection, rows: Sequence[FailureRow], now: datetime) -> list[FailureRow]:
    """Return the groups with people's marks and their states."""
    known = marks(conn, {row.fingerprint for row in rows})
    solved = [mark for mark in known.values() if mark.solved_at is not None]
    back = _back(conn, solved, now) if solved else set[str]()
    found: list[FailureRow] = []
    for row in rows:
        mark = known.get(row.fingerprint)
        state = FailureState.OPEN if mark is None else mark.state(now, is_back=mark.fingerprint in back)
        found.append(replace(row, mark=mark, state=state))
    return found


def known(conn: Connection, rows: Iterable[FailureRow], now: datetime) -> set[str]:
    """Return the fingerprints of those of these groups that people know of: their failures are no news."""
    quiet = _quiet(conn, now)
    among = [row for row in rows if row.fingerprint in quiet] if quiet else []
    return {row.fingerprint for row in marked(conn, among, now) if row.state.is_known}


def known_failures(conn: Connection, scope: Scope, now: datetime) -> int:
    """Count the failures of a scope that people know of; of more than ``COUNTED`` the newest."""
    jobs = set(_quiet(conn, now).values())
    if not jobs:
        return 0
    of_jobs = e.c.job_name.in_(jobs)
    rows = merge_failures(failures(conn, scope, COUNTED, grouped=COUNTED, also=of_jobs), COUNTED)
    names = known(conn, rows, now)
    return sum(row.count for row in rows if row.fingerprint in names)


def unknown_errors(conn: Connection, scope: Scope, now: datetime) -> list[FailureRow]:
    """Return the groups of failures of runs that no task made, of which people know nothing."""
    rows = merge_failures(failures(conn, scope, GROUPED, also=e.c.task_id.is_(None)), GROUPED)
    names = known(conn, rows, now)
    return [row for row in rows if row.fingerprint not in names]


def news(conn: Connection, execution_ids: Collection[int], now: datetime) -> set[int]:
    """Return those of these failed executions whose errors are not known to people yet."""
    if not _quiet(conn, now):
        return set(execution_ids)
    asked, parameters = dialect.batch(conn, {"id": dialect.KINDS[int]}, [(one,) for one in execution_ids], name="asked")
    message = func.substr(e.c.error_message, 1, MESSAGE_PREFIX)
    about = (e.c.job_name, e.c.error_type, message, literal(1), e.c.started_at, e.c.started_at, e.c.id)
    rows = [FailureRow(*row) for row in conn.execute(select(*about).where(e.c.id == asked.c.id), parameters)]
    names = known(conn, rows, now)
    return {row.execution_id for row in rows if row.fingerprint not in names}


def failing_tasks(conn: Connection, now: datetime) -> tuple[int, ...]:
    """Return the keys of the tasks whose newest finished execution failed, with an error that is news."""
    newest = e.c.id == newest_finished_of(t.c.id)
    failed = select(e.c.id, t.c.id).join_from(t, e, newest).where(e.c.outcome.in_(sql_literals(FAILURES)))
    found: dict[int, int] = dict(conn.execute(failed).all())
    fresh = news(conn, found, now)
    return tuple(sorted(task_id for execution_id, task_id in found.items() if execution_id in fresh))


def _quiet(conn: Connection, now: datetime) -> dict[str, str]:
    """Return the jobs of the groups that people have silenced, or have said to be solved, by their fingerprints."""
    m = failure_mark.c
    statement = select(m.fingerprint, m.job_name).where((m.silenced_until > now) | m.solved_at.is_not(None))
    return dict(conn.execute(statement).all())


def _back(conn: Connection, solved: Sequence[FailureMark], now: datetime) -> set[str]:
    """Return the fingerprints of groups that count as solved, and have failures that show that they are not."""
    since = min((mark.solved_at for mark in solved if mark.solved_at is not None), default=now)
    by_name = {mark.fingerprint: mark for mark in solved}
    rows = _newest(Scope(since, now + JUST_BEGUN), GROUPED, e.c.job_name.in_({mark.job_name for mark in solved}))
    last = func.max(rows.c.started_at, type_=UtcDateTime())
    about = (rows.c.job_name, rows.c.error_type, rows.c.message, rows.c.node_id)
    statement = select(*about, last).group_by(*about)
    failed = [
        (by_name[name], node_id, at)
        for job_name, error_type, message, node_id, at in conn.execute(statement)
        if (name := fingerprint(job_name, error_type, message)) in by_name
    ]
    known = signatures(conn, {node_id for _, node_id, _ in failed})
    return {
        mark.fingerprint
        for mark, node_id, at in failed
        if mark.comes_back(at, known.get(node_id, {}).get(mark.job_name))
    }


JUST_BEGUN: Final = timedelta(minutes=1)
"""So far an execution can have begun after the time of who asks, whose clock may be behind."""


@dataclass(frozen=True, slots=True)
class _Member:
    id: int
    node: str
    node_id: int
    message: str
    started_at: datetime
    bucket: int
    looked_at: int
    since: datetime


def _members(conn: Connection, scope: Scope, error_type: str | None, seconds: int, grouped: int) -> list[_Member]:
    """Return the failures with an error of this type among the newest of a scope, the newest first.

    Each has how many were looked at, and when the first of those began.
    """
    newest = _newest(scope, grouped)
    looked_at = select(
        newest,
        func.count().over().label("looked_at"),
        func.min(newest.c.started_at, type_=UtcDateTime()).over().label("since"),
    ).subquery("looked_at")
    rows = looked_at.c
    statement = (
        select(
            rows.id,
            rows.node,
            rows.node_id,
            rows.message,
            rows.started_at,
            bucket_start(rows.started_at, literal(seconds)).label("bucket"),
            rows.looked_at,
            rows.since,
        )
        .where(rows.error_type.is_not_distinct_from(error_type))
        .order_by(rows.id.desc())
    )
    return [_Member(*row) for row in conn.execute(statement)]
