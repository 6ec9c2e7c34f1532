"""The common case of the queue in one statement each, on PostgreSQL: take the one lane there is, end what succeeded.

Nothing is joined but lists of keys with primary keys, and the fences are written so that no index can serve them: which
index is best there depends on how full the queue is, of which statistics know too little.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from ...core.events import ENDED, STARTED
from ...core.held import HeldRun, LanePosition
from ...core.lazy import LazyModule
from ...core.model import Json
from ..db.autocommit import AutocommitConnection
from ..schema.parts import AMONG_ALL
from .candidates import FREE, JUDGED
from .pending_jobs import CLAIMABLE_STATE, IN_ORDER_OF_JOBS, first_group, of_job, other_jobs

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = LazyModule("psycopg")

_TOLD = "id, execution_id, job_name, group_name, task_id, task_name"
# The fields of ``HeldRun`` in their order; the last ones are the same for all that a statement begins.
_HELD = (
    "id, attempt, job_name, args, group_name, task_id, task_name, scheduled_for, failures, retries, retry_delay, "
    "timeout, submitter, submitter_id, description, signature, carried, available_at, trigger"
)
_OF_RUN = ", ".join(f"r.{name}" for name in _HELD.split(", "))


class Lane(Enum):
    """What a look at the queue found.

    ``TAKEN``: nothing or one lane, which was served. ``MIXED``: more than one lane, or runs that have to be judged; the
    general claim sees to them, and nothing was taken. ``NOT_ACCEPTING``: the node may take nothing. ``SHARED``: runs of
    jobs that the node does not know are pending too, and nothing was taken.
    """

    TAKEN = 0
    MIXED = 1
    NOT_ACCEPTING = 2
    SHARED = 3


# A group's due runs of one priority are a lane. Where only one group has runs pending, no stuck one is due, it is
# neither paused nor limited, and all that is due has one priority, the fair order is the order of the lane.
_STANDING = """standing AS MATERIALIZED (
    SELECT n.id FROM cronograph.node n
    WHERE n.id = %(node_id)s AND n.state IN ('active', 'stalled', 'starting') FOR KEY SHARE)"""


def _classes(ends: str, stuck: str, high: str, low: str) -> str:
    """What there is, judged by SQL of the group's name, and of whether it has due runs that are stuck, high and low."""
    return f"""
WITH RECURSIVE moment AS MATERIALIZED (SELECT statement_timestamp() AS at),
{_STANDING},
{ends},
classes AS MATERIALIZED (
    SELECT e.lowest AS name, m.at, EXISTS (SELECT FROM standing) AS accepts, e.shared,
        e.lowest IS DISTINCT FROM e.highest
        OR EXISTS (SELECT FROM cronograph.queue_group q
                   WHERE q.name = e.lowest AND (q.paused_at IS NOT NULL OR q.max_running IS NOT NULL))
        OR {stuck} AS mixed, {high} AS high, {low} AS low
    FROM ends e, moment m),"""


def _is_due(condition: str) -> str:
    return f"EXISTS (SELECT FROM cronograph.run r WHERE r.group_name = e.lowest AND {condition})"


_IS_STUCK = _is_due("r.state = 'stuck' AND r.available_at < m.at")
_IS_HIGH = _is_due("r.state = 'waiting' AND r.priority = 'high' AND r.available_at <= m.at")
_IS_LOW = _is_due("r.state = 'waiting' AND r.priority = 'low' AND r.available_at <= m.at")


_CLASSES = _classes(
    f"""{other_jobs("p.name = ANY(%(jobs)s)")},
ends AS MATERIALIZED (
    SELECT (SELECT min(group_name) FROM cronograph.run WHERE {CLAIMABLE_STATE}) AS lowest,
           (SELECT max(group_name) FROM cronograph.run WHERE {CLAIMABLE_STATE}) AS highest,
           EXISTS (SELECT FROM pending_job p WHERE p.name <> ALL(%(jobs)s)) AS shared)""",
    _IS_STUCK,
    _IS_HIGH,
    _IS_LOW,
)
# The same behind a place in a lane: only what lies before the place is not looked for.
_CLASSES_BEHIND = _classes(
    f"""ends AS MATERIALIZED (
    SELECT %(group)s::text AS lowest,
           CASE WHEN NOT EXISTS (SELECT FROM cronograph.run r WHERE {CLAIMABLE_STATE} AND r.group_name < %(group)s)
                 AND NOT EXISTS (SELECT FROM cronograph.run r WHERE {CLAIMABLE_STATE} AND r.group_name > %(group)s)
                THEN %(group)s::text END AS highest,
           false AS shared)""",
    _IS_STUCK,
    f"(%(high)s OR {_IS_HIGH})",
    f"(NOT %(high)s OR {_IS_LOW})",
)


def _locked(place: str) -> str:
    return f"""
locked AS MATERIALIZED (
    SELECT r.id, r.available_at, r.judged,
        r.exclusive AND r.task_id IS NOT NULL
        AND row_number() OVER (PARTITION BY r.task_id ORDER BY r.available_at, r.id) > 1 AS blocked
    FROM classes c CROSS JOIN LATERAL (
        SELECT r.id, r.task_id, r.exclusive, r.available_at, {JUDGED} AS judged FROM cronograph.run r
        WHERE r.state = 'waiting' AND r.group_name = c.name AND r.available_at <= c.at
          AND r.priority = CASE WHEN c.high THEN 'high' ELSE 'low' END
          AND r.job_name = ANY(%(jobs)s) AND {FREE}{place}
        ORDER BY r.available_at, r.id LIMIT %(slots)s FOR UPDATE OF r SKIP LOCKED) r
    WHERE c.accepts AND NOT c.shared AND NOT c.mixed AND NOT (c.high AND c.low)),"""


def _has_due(state: str, priority: str) -> str:
    due = of_job("e.lowest", state, f"'{priority}'", "m.at")
    one = f"SELECT FROM cronograph.run r WHERE {due} ORDER BY {IN_ORDER_OF_JOBS} LIMIT 1"
    return f"EXISTS (SELECT FROM mine j, LATERAL ({one}) r)"


# The same where runs of other jobs are pending, too: of the node's own jobs each is looked for by itself.
_CLASSES_BY_JOB = _classes(
    f"""mine AS MATERIALIZED (
    SELECT j.name, {first_group("j.name")} AS lowest, {first_group("j.name", last=True)} AS highest
    FROM unnest(%(jobs)s::text[]) AS j(name)),
ends AS MATERIALIZED (SELECT min(lowest) AS lowest, max(highest) AS highest, false AS shared FROM mine)""",
    f"({_has_due('stuck', 'high')} OR {_has_due('stuck', 'low')})",
    _has_due("waiting", "high"),
    _has_due("waiting", "low"),
)
_LOCKED_BY_JOB = f"""
picked AS MATERIALIZED (
    SELECT r.id FROM classes c CROSS JOIN mine j CROSS JOIN LATERAL (
        SELECT r.id, r.available_at FROM cronograph.run r
        WHERE {of_job("c.name", "waiting", "CASE WHEN c.high THEN 'high' ELSE 'low' END", "c.at")} AND {FREE}
        ORDER BY {IN_ORDER_OF_JOBS} LIMIT %(slots)s) r
    WHERE j.lowest IS NOT NULL AND c.accepts AND NOT c.mixed AND NOT (c.high AND c.low)
    ORDER BY r.available_at, r.id LIMIT %(slots)s),
locked AS MATERIALIZED (
    SELECT r.id, r.available_at, r.judged,
        r.exclusive AND r.task_id IS NOT NULL
        AND row_number() OVER (PARTITION BY r.task_id ORDER BY r.available_at, r.id) > 1 AS blocked
    FROM (
        SELECT r.id, r.task_id, r.exclusive, r.available_at, {JUDGED} AS judged FROM cronograph.run r, classes c
        WHERE r.id = ANY(ARRAY(SELECT p.id FROM picked p)) AND r.state || '' = 'waiting' AND r.group_name || '' = c.name
          AND r.priority || '' = CASE WHEN c.high THEN 'high' ELSE 'low' END AND r.available_at - c.at <= interval '0'
        FOR UPDATE OF r SKIP LOCKED) r),"""


def _taking(classes: str, locked: str, seen: str) -> str:
    """Find the lane, lock its runs, begin them, and tell; ``seen``: the part whose runs were looked at.

    What is the same for all rows and costs the node more than a number to read comes with the first one alone.
    """
    return f"""{classes}{locked}
chosen AS MATERIALIZED (
    SELECT l.id, nextval('cronograph.job_execution_id_seq') AS execution_id FROM (
        SELECT l.id FROM locked l WHERE NOT l.blocked AND NOT EXISTS (SELECT FROM locked WHERE judged)
        ORDER BY l.available_at, l.id) l),
start AS MATERIALIZED (
    SELECT clock_timestamp() AS at, count(*) AS runs, min(execution_id) AS first FROM chosen),
begun AS (
    UPDATE cronograph.run r SET state = 'running', node_id = %(node_id)s, attempt = r.attempt + 1, started_at = s.at,
        progress = NULL
    FROM chosen c, start s WHERE r.id = c.id
    RETURNING c.execution_id, r.submitted_at, r.checkpoint, {_OF_RUN}),
opened AS (
    INSERT INTO cronograph.job_execution (id, job_name, started_at, run_id, task_id, task_name, attempt, node_id, node,
        trigger, scheduled_for, submitted_at, log_lines, log_cut)
    OVERRIDING SYSTEM VALUE
    SELECT b.execution_id, b.job_name, s.at, b.id, b.task_id, b.task_name, b.attempt, %(node_id)s, %(node)s,
        b.trigger, b.scheduled_for, b.submitted_at, 0, 0 FROM begun b, start s),
marked AS (
    UPDATE cronograph.periodic_task t SET last_started_at = s.at FROM begun b, start s
    WHERE t.id = b.task_id AND b.trigger = 'schedule' AND b.attempt = 1),
event_written AS (
    INSERT INTO cronograph.event (at, changes)
    SELECT s.at, jsonb_build_array(jsonb_build_object('{STARTED}', (
        SELECT jsonb_agg(jsonb_build_array({_TOLD}) ORDER BY execution_id) FROM begun), 'node', %(node)s::text))
    FROM start s WHERE s.runs > 0)
SELECT s.runs, CASE WHEN NOT c.accepts THEN {Lane.NOT_ACCEPTING.value} WHEN c.shared THEN {Lane.SHARED.value}
        WHEN c.mixed AND c.name IS NOT NULL OR c.high AND c.low OR EXISTS (SELECT FROM locked WHERE judged)
        THEN {Lane.MIXED.value} ELSE {Lane.TAKEN.value} END,
    (SELECT count(*) FROM {seen}) = %(slots)s,
    CASE WHEN s.runs < %(slots)s THEN extract(epoch FROM (
        SELECT min(r.available_at) FROM cronograph.run r
        WHERE {CLAIMABLE_STATE} AND r.{AMONG_ALL} AND r.available_at > c.at) - c.at)::float8 END,
    CASE WHEN b.execution_id = s.first THEN s.at END, CASE WHEN b.execution_id = s.first THEN c.name END,
    CASE WHEN b.execution_id = s.first THEN c.high END,
    CASE WHEN b.execution_id = s.first THEN (SELECT max(l.available_at) FROM locked l) END, b.*
FROM classes c CROSS JOIN start s LEFT JOIN (
    SELECT execution_id,
        coalesce((SELECT t.checkpoint FROM cronograph.periodic_task t WHERE t.id = task_id), checkpoint), {_HELD}
    FROM begun) b ON true
ORDER BY b.execution_id
"""


_TAKE = _taking(_CLASSES, _locked(""), "locked")
_TAKE_BEHIND = _taking(
    _CLASSES_BEHIND, _locked(" AND (r.available_at, r.id) > (%(available_at)s, %(run_id)s::bigint)"), "locked"
)
_TAKE_BY_JOB = _taking(_CLASSES_BY_JOB, _LOCKED_BY_JOB, "picked")

_END = f"""
WITH moment AS MATERIALIZED (SELECT statement_timestamp() AS at),
ended AS (
    UPDATE cronograph.run r SET state = 'success', finished_at = m.at, done_attempt = r.attempt, error = NULL,
        result = NULL
    FROM unnest(%(ids)s::bigint[], %(attempts)s::int[], %(executions)s::bigint[], %(records)s::bigint[])
        WITH ORDINALITY AS u(id, attempt, execution_id, records, place), moment m
    WHERE r.id = u.id AND r.attempt = u.attempt AND r.node_id + 0 = %(node_id)s AND r.state || '' = 'running'
        AND r.cancel_requested_at IS NULL
    RETURNING r.id, r.job_name, r.group_name, r.task_id, r.task_name, u.execution_id, u.records, m.at),
closed AS (
    UPDATE cronograph.job_execution x SET completed_at = d.at, success = true, outcome = 'success',
        records_processed = d.records
    FROM ended d WHERE x.id = d.execution_id),
event_written AS (
    INSERT INTO cronograph.event (at, changes)
    SELECT m.at, jsonb_build_array(jsonb_build_object('{ENDED}', (
        SELECT jsonb_agg(jsonb_build_array({_TOLD}) ORDER BY execution_id) FROM ended), 'node', %(node)s::text))
    FROM moment m WHERE EXISTS (SELECT FROM ended))
SELECT id FROM ended
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken.

    Attributes:
        lane: What the look found.
        full: Whether there may be more.
        next_in: Where less was taken than asked for: seconds until the next run becomes available by time alone.
        begun: The runs in fair order, each with its execution and its task's last checkpoint.
        place: Behind which the next look at the lane may begin; None: at its beginning.
    """

    lane: Lane
    full: bool
    next_in: float | None = None
    begun: Sequence[tuple[int, Json, HeldRun]] = ()
    place: LanePosition | None = None


async def take_lane(
    connection: AutocommitConnection,
    node: tuple[int, str],
    jobs: Sequence[str],
    slots: int,
    behind: LanePosition | None = None,
) -> Taken:
    """Begin up to ``slots`` runs, if all that is due is one lane.

    What has been taken leaves dead entries at the beginning of the lane in its index until the next VACUUM. A look
    ``behind`` a place does not walk through them, and does not find what came before that place meanwhile. Whether
    there is more than this lane it sees as any other look does, but for runs of jobs that the node does not know.

    Args:
        connection: A connection of the caller's.
        node: Its id and its name.
        jobs: Those that it can run.
        slots: How many.
        behind: What the last look at the lane for the same jobs brought.
    """
    parameters: dict[str, object] = {"node_id": node[0], "node": node[1], "jobs": list(jobs), "slots": slots}
    statement = _TAKE
    if behind is not None:
        statement, parameters = _TAKE_BEHIND, parameters | behind._asdict()
    try:
        rows = await connection.execute(statement, parameters)
        by_job = rows[0][1] == Lane.SHARED.value
        if by_job:
            rows = await connection.execute(_TAKE_BY_JOB, parameters)
    except psycopg.errors.UniqueViolation:
        # Another node has begun a run of the same exclusive task at this moment.
        return Taken(Lane.MIXED, False)
    count, lane, full, next_in, at, group, high, last = rows[0][:8]
    if not count:
        # At the end of what lies behind the place there may be something before it.
        return Taken(Lane(lane), behind is not None, next_in)
    begun = [(row[8], row[9], HeldRun._make((*row[10:], at, *node))) for row in rows]
    is_next = count == slots and not by_job
    place = LanePosition(group, high, last, begun[-1][2].id) if is_next else None
    return Taken(Lane(lane), full or behind is not None, next_in, begun, place)


class Success(NamedTuple):
    """The common end of an attempt: it succeeded, without a value, log lines or progress."""

    run_id: int
    attempt: int
    execution_id: int
    records_processed: int | None


async def end_successes(
    connection: AutocommitConnection, node: tuple[int, str], successes: Sequence[Success]
) -> frozenset[int]:
    """End attempts that are still this node's and were not asked to stop; the ids of their runs.

    Args:
        connection: A connection of the caller's.
        node: Its id and its name.
        successes: One of a run at most.
    """
    ids, attempts, executions, records = zip(*sorted(successes), strict=True)
    parameters = {
        "node_id": node[0],
        "node": node[1],
        "ids": list(ids),
        "attempts": list(attempts),
        "executions": list(executions),
        "records": list(records),
    }
    return frozenset(row[0] for row in await connection.execute(_END, parameters))
