"""Runs of jobs that a node cannot run wait in the same queue; however many they are, it finds its own beside them.

Usually a lane is read along the order in which its runs are taken, and those of other jobs are passed over. That is
cheap as long as there are none. Where there are, each of the node's jobs is looked for by itself, along an index that
begins with the job.
"""

from collections.abc import Sequence

from sqlalchemy import Connection

from . import statements


def jobs_among_others(conn: Connection, jobs: Sequence[str]) -> tuple[str, ...] | None:
    """Which of ``jobs`` have runs pending, if runs of other jobs are pending, too; None if there are none of others.

    What it costs grows with ``jobs`` and not with the runs.
    """
    parameters = {"jobs": list(jobs)}
    if not statements.execute(conn, "pending_of_other_jobs", parameters).one().are_there:
        return None
    return tuple(row.name for row in statements.execute(conn, "pending_of_own_jobs", parameters))
