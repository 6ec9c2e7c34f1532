"""Rows and tables that are held for a moment, so that a node stands still at a known place and can be killed there."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, text

from cronograph.jobs.store.schema.types import SchemaText
from tests.chaos.stage import Stage

_BLOCKED = text("""
SELECT a.application_name FROM pg_stat_activity a
WHERE :pid = ANY(pg_blocking_pids(a.pid))
  AND (CAST(:written AS text) IS NULL OR EXISTS (
      SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.granted AND l.mode = 'RowExclusiveLock'
        AND l.relation = CAST(CAST(:written AS text) AS regclass)))
""")


@dataclass
class Held:
    """What is held until the block ends.

    Attributes:
        conn: The connection that holds it.
        pid: Its backend; None on SQLite, where nobody can tell who waits.
    """

    conn: Connection
    pid: int | None

    def blocked(self, writes: str | None = None) -> set[str]:
        """The names of the nodes that wait for it now; those alone that have written this table in the transaction."""
        assert self.pid is not None, "SQLite does not say who waits"
        table = None if writes is None else f"cronograph.{writes}"
        # Within one transaction PostgreSQL goes on showing the sessions of the first look.
        self.conn.execute(text("SELECT pg_stat_clear_snapshot()"))
        return set(self.conn.execute(_BLOCKED, {"pid": self.pid, "written": table}).scalars())


@contextmanager
def held(stage: Stage, statement: str, **parameters: object) -> Generator[Held]:
    """Hold what ``statement`` locks; on SQLite nobody else writes at all meanwhile."""
    with stage.cluster.engine.connect() as conn:
        if stage.postmaster is None:
            conn.begin()
            pid = None
        else:
            conn.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
            pid = conn.execute(text("SELECT pg_backend_pid()")).scalar_one()
            conn.execute(SchemaText(statement), parameters)
        try:
            yield Held(conn, pid)
        finally:
            conn.rollback()
