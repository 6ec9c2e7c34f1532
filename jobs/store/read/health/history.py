"""How much room history takes, and how much of it is older than so many days; bounded work, however long it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, func, select, text

from ...db.dialect import is_postgresql
from ...schema.naming import SCHEMA, SchemaText
from ...schema.tables import job_execution as e

HISTORY: Final = ("run", "job_execution", "execution_log", "event", "run_label", "run_step", "skipped_occurrence")
"""The tables that grow with what is run, and that a pruning makes smaller."""
DAYS: Final = (1, 7, 14)
"""The shorter times of which it is said what they would free."""


@dataclass(frozen=True, slots=True)
class HistoryHealth:
    """What history takes.

    Attributes:
        bytes: Of its tables with their indexes; None if the database does not tell.
        executions: About how many there are.
        days: How long ago the first of them began.
        older: The part of them that is older than so many days, by the days.
    """

    bytes: int | None
    executions: int
    days: float
    older: Mapping[int, float]


def read(conn: Connection, now: datetime) -> HistoryHealth:
    """Look at both ends of the execution log, and at where the days of ``DAYS`` begin in it.

    Ids ascend with the time of the start, so what is between two of them is counted by their difference.
    """
    ends = conn.execute(select(func.min(e.c.id), func.max(e.c.id))).one()
    sizes = table_bytes(conn)
    size = None if sizes is None else sum(sizes.values())
    if ends[0] is None:
        return HistoryHealth(size, 0, 0.0, dict.fromkeys(DAYS, 0.0))
    first, last = ends
    began = conn.execute(select(e.c.started_at).where(e.c.id == first)).scalar_one()
    older = {days: _older(conn, now - timedelta(days=days), first, last) for days in DAYS}
    return HistoryHealth(size, last - first + 1, max(0.0, (now - began).total_seconds() / 86400), older)


def _older(conn: Connection, before: datetime, first: int, last: int) -> float:
    """The part of the executions that began earlier."""
    statement = select(e.c.id).where(e.c.started_at >= before).order_by(e.c.started_at, e.c.id).limit(1)
    young = conn.execute(statement).scalar_one_or_none()
    return 1.0 if young is None else max(0.0, young - first) / (last - first + 1)


def table_bytes(conn: Connection) -> dict[str, int] | None:
    """The size of each table of ``HISTORY`` with its indexes; None if SQLite was built without ``dbstat``."""
    if is_postgresql(conn):
        return {row.name: row.bytes for row in conn.execute(_POSTGRES) if row.name in HISTORY}
    if not conn.execute(
        text("SELECT 1 FROM pragma_compile_options WHERE compile_options = 'ENABLE_DBSTAT_VTAB'")
    ).all():
        return None
    sizes: dict[str, int] = dict.fromkeys(HISTORY, 0)
    for row in conn.execute(_SQLITE):
        if row.name in sizes:
            sizes[row.name] = row.bytes
    return sizes


_POSTGRES: Final = SchemaText(f"""
    SELECT relname AS name, pg_total_relation_size(relid) AS bytes
    FROM pg_stat_user_tables WHERE schemaname = '{SCHEMA}'
""")
_SQLITE: Final = text("""
    SELECT m.tbl_name AS name, sum(d.pgsize) AS bytes
    FROM dbstat d JOIN sqlite_schema m ON m.name = d.name GROUP BY m.tbl_name
""")
