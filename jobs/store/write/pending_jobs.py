"""Runs of jobs that a node cannot run wait in the same queue; however many they are, it finds its own beside them.

Usually a lane is read along the order in which its runs are taken, and those of other jobs are passed over. That is
cheap as long as there are none. Where there are, each of the node's jobs is looked for by itself, along an index that
begins with the job.

On PostgreSQL the conditions compare rows of columns, and the order names all of them: so that index alone can serve
them, whatever the statistics of a queue that is now empty and now full say.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection

from ...core.states import CLAIMABLE
from ..db import dialect
from ..schema.naming import SchemaText
from ..schema.parts import BY_JOB
from ..schema.tables import quoted

CLAIMABLE_STATE: Final = f"state IN ({quoted(CLAIMABLE)})"
"""Beside a narrower condition on the state it says nothing new, but databases take a partial index only if they read
the condition of that index."""

OF_JOBS: Final = f"{CLAIMABLE_STATE} AND r.{BY_JOB}"
"""``CLAIMABLE_STATE`` where the index that begins with the job is meant."""

IN_ORDER_OF_JOBS: Final = "r.job_name, r.group_name, r.state, r.priority, r.available_at, r.id"
"""The order of the index; within one lane of one job that of its times."""


def of_job(group: str, state: str, priority: str, now: str) -> str:
    """That ``r`` is a run of the job ``j.name``, of a lane, and due: PostgreSQL's condition, for ``IN_ORDER_OF_JOBS``.

    Args:
        group: SQL of the group.
        state: ``waiting`` or ``stuck``; what is stuck is due strictly after its time.
        priority: SQL of the priority.
        now: SQL of the time.
    """
    lane = f"j.name, {group}, '{state}', {priority}"
    columns = "r.job_name, r.group_name, r.state, r.priority"
    until = "<" if state == "stuck" else "<="
    return f"r.{OF_JOBS} AND ({columns}) >= ({lane}) AND ({columns}, r.available_at) {until} ({lane}, {now})"


def first_group(job: str, after: str = "''", *, last: bool = False) -> str:
    """SQL for PostgreSQL of the first (or the last) group, behind another, in which runs of a job are pending."""
    turned = " DESC" if last else ""
    return f"""(SELECT r.group_name FROM cronograph.run r
        WHERE r.{OF_JOBS} AND (r.job_name, r.group_name) > ({job}, {after}) AND r.job_name <= {job}
        ORDER BY r.job_name{turned}, r.group_name{turned} LIMIT 1)"""


def _job_after(condition: str) -> str:
    """The first job behind another that has runs pending: one step along the index."""
    return f"""(SELECT r.job_name FROM cronograph.run r WHERE r.{OF_JOBS}{condition}
        ORDER BY r.job_name, r.group_name LIMIT 1)"""


def other_jobs(known: str) -> str:
    """SQL of a recursive part ``pending_job(name)``: the jobs with runs pending, up to the first that is not known.

    Args:
        known: SQL of the condition that ``p.name`` is known.
    """
    return f"""pending_job(name) AS (
        SELECT {_job_after("")}
        UNION ALL
        SELECT {_job_after(" AND r.job_name > p.name")} FROM pending_job p WHERE {known})"""


_KNOWN_ON_POSTGRES = "p.name = ANY(:jobs)"
_KNOWN_ON_SQLITE = "p.name IN (SELECT value FROM json_each(:jobs))"


def _are_there(known: str) -> SchemaText:
    return SchemaText(f"""
        WITH RECURSIVE {other_jobs(known)} SELECT EXISTS (SELECT 1 FROM pending_job p WHERE NOT ({known}))""")


_OTHERS_ON_POSTGRES, _OTHERS_ON_SQLITE = _are_there(_KNOWN_ON_POSTGRES), _are_there(_KNOWN_ON_SQLITE)
_OWN_ON_POSTGRES = SchemaText(f"""
    SELECT j.name FROM unnest(CAST(:jobs AS text[])) AS j(name) WHERE {first_group("j.name")} IS NOT NULL""")
_OWN_ON_SQLITE = SchemaText(f"""
    SELECT j.value FROM json_each(:jobs) j WHERE EXISTS (
        SELECT 1 FROM cronograph.run r INDEXED BY ix_run_claimable_job
        WHERE r.{OF_JOBS} AND r.job_name = j.value)""")


def jobs_among_others(conn: Connection, jobs: Sequence[str]) -> tuple[str, ...] | None:
    """Which of ``jobs`` have runs pending, if runs of other jobs are pending, too; None if there are none of others.

    What it costs grows with ``jobs`` and not with the runs.
    """
    postgres = dialect.is_postgresql(conn)
    parameters = {"jobs": list(jobs) if postgres else dialect.bound_list(jobs)}
    if not conn.execute(_OTHERS_ON_POSTGRES if postgres else _OTHERS_ON_SQLITE, parameters).scalar_one():
        return None
    # In a statement of its own, which is seldom needed: to plan it costs more than to look.
    return tuple(conn.execute(_OWN_ON_POSTGRES if postgres else _OWN_ON_SQLITE, parameters).scalars())
