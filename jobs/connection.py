"""The queue of a process that only enqueues: its own connection to the database that the nodes use."""

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from .actions.run_changes import changed, history_of, run_of
from .core.base.errors import ConfigurationError, StorageError, python_names
from .core.base.lazy import LazyModule
from .core.flows import FlowSpec
from .core.model import Enqueued, Execution, NewRun, Run
from .core.run_spec import RunSpec, RunTarget
from .core.waits import RunChange
from .own.forks import Gate, leave_to_parent, renew_in_forks
from .queue.base.new_runs import by_driver, stored_here
from .queue.enqueue.enqueue import (
    AsyncTransaction,
    Transaction,
    at_once,
    change_in,
    enqueue_many_sync,
    enqueue_sync,
    joined,
    put_in,
)
from .queue.enqueue.requests import new_run, new_runs, traced
from .queue.flows.new_flows import enqueue_flow_sync
from .queue.group_commit import GroupCommit
from .registry import Registry, registry_or_default
from .registry.queue import RunQueue
from .store.db import dialect
from .store.db.address import is_sqlite, parse_url, sqlite_path, with_schema
from .store.db.callers import explaining_missing_tables
from .store.db.database import Database, SyncAutocommitConnection
from .store.db.dialects import lent
from .store.db.faults import ErrorKind, kind_of
from .store.db.transaction import Tx, Wake
from .store.schema.types import SCHEMA, SQLITE_SCHEMA, schema_fault
from .store.statements import runs as stored_runs

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = LazyModule("psycopg")

T = TypeVar("T")

URL_VARIABLE = "CRONOGRAPH_DATABASE_URL"
"""Names the database of a process that has not called ``connect``."""
SCHEMA_VARIABLE = "CRONOGRAPH_DATABASE_SCHEMA"
"""Names the schema of the tables in it."""


class Connection:
    """Puts runs into the queue and looks after them, from any thread; opens its connection with the first use.

    Runs that several callers enqueue at once share a transaction. A forked process goes on with connections of
    its own.

    ``with connect(…):`` closes it at the end.

    Args:
        database_url: As for ``cronograph serve``.
        registry: Whose jobs use it.
    """

    def __init__(self, database_url: str, registry: Registry) -> None:
        self._registry = registry
        self._at_work = Gate()
        self._url = parse_url(database_url)
        self._begin()
        renew_in_forks(self)

    def _begin(self) -> None:
        self._database = Database(self._url)
        self.schema = self._database.schema
        # For what may have to wait for an open transaction that holds its key, or its place in a full queue.
        self._patient = self._database if self._database.is_sqlite else Database(self._url)
        self._connections = [one.sync_autocommit_connection() for one in (self._database, self._patient)]
        self._puts, self._patient_puts = (
            GroupCommit(partial(self._put_together, database, connection))
            for database, connection in zip((self._database, self._patient), self._connections, strict=True)
        )

    def renew(self) -> None:
        """Start again in a forked process, with connections and a writer of its own."""
        leave_to_parent(self._database, self._patient, self._connections, self._puts, self._patient_puts)
        self._begin()

    def _write(self, action: Callable[[Tx], T], database: Database | None = None) -> T:
        self._check_file()
        chosen = database or self._database
        with self._at_work, explaining_missing_tables(self.schema):
            try:
                return chosen.write_sync(action)
            except Exception as error:
                if kind_of(error) is not ErrorKind.CONFLICT:
                    raise
            # Another transaction was in the way, and nothing was stored.
            return chosen.write_sync(action)

    def _check_file(self) -> None:
        """Check that the database file exists: SQLite itself would create an empty file at a mistyped path."""
        url = self._database.url
        if is_sqlite(url) and not sqlite_path(url).exists():
            raise StorageError(
                f"database file '{sqlite_path(url)}': must be there, but is not; correct the database URL, or run "
                "`cronograph migrate` with it"
            )

    def put(self, spec: RunSpec) -> Enqueued:
        """Put a run into the queue, committed when this returns.

        Raises:
            UserError: a value is invalid.
            StorageError: the database is not there, or has no tables.
        """
        run = new_run(traced(spec))
        return self._group_of(run).put(run)

    async def put_in_loop(self, spec: RunSpec) -> Enqueued:
        """Do the same as ``put`` in a task of an event loop."""
        run = new_run(traced(spec))
        return await self._group_of(run).put_in_loop(run)

    def _group_of(self, run: NewRun) -> GroupCommit[NewRun, Enqueued]:
        """Choose the group of a run: runs that may have to wait for others must not hold up the rest."""
        return self._puts if run.unique_key is None and run.hold is None and run.cap is None else self._patient_puts

    def _put_together(
        self, database: Database, connection: SyncAutocommitConnection | None, runs: Sequence[NewRun]
    ) -> list[Enqueued]:
        """Put runs of several callers into the queue together."""
        if connection is not None:
            stored = None
            try:
                with self._at_work, explaining_missing_tables(self.schema):
                    stored = at_once(by_driver(connection.execute), runs)
            except Exception as error:
                if kind_of(error) is not ErrorKind.CONFLICT:
                    raise
            if stored is not None:
                return stored
        return self._write(lambda tx: put_in(tx.conn, runs, of_several=True), database)

    def put_in(self, session: Transaction, spec: RunSpec) -> Enqueued:
        """See ``RunQueue``; for errors see ``put``."""
        return enqueue_sync(session, spec, schema=self._schema_of_sessions)

    def put_many_in(self, session: Transaction, runs: Iterable[RunSpec]) -> list[int]:
        """See ``RunQueue``; for errors see ``put``."""
        return enqueue_many_sync(session, runs, schema=self._schema_of_sessions)

    def put_flow(self, flow: FlowSpec) -> int:
        """See ``RunQueue``; for errors see ``put``."""
        return self._write(lambda tx: enqueue_flow_sync(tx.conn, flow))

    def put_flow_in(self, session: Transaction, flow: FlowSpec) -> int:
        """See ``RunQueue``; for errors see ``put``."""
        return enqueue_flow_sync(session, flow, schema=self._schema_of_sessions)

    @property
    def _schema_of_sessions(self) -> str:
        return _named_schema() if self.schema == SQLITE_SCHEMA else self.schema

    def find(self, target: RunTarget) -> Run | None:
        """See ``RunQueue``."""
        return self._write(lambda tx: run_of(tx, target))

    def history(self, run_id: int, session: "Transaction | None" = None) -> tuple[Run, Sequence[Execution]] | None:
        """See ``RunQueue``; with the changes of ``session``, if it is given."""
        if session is None:
            return self._write(lambda tx: history_of(tx.conn, run_id))
        with joined(session, self._schema_of_sessions) as conn:
            return history_of(conn, run_id)

    def latest(self, number: int) -> list[Run]:
        """Return the newest runs, the newest first."""
        return self._write(lambda tx: stored_runs.latest(tx.conn, number))

    def change(self, target: RunTarget, change: RunChange, session: "Transaction | None" = None) -> Run:
        """See ``RunQueue``.

        Raises:
            NotFound: there is no such run.
            UserError: it is not in a state for that, or a value is invalid.
        """
        if session is not None:
            return change_in(session, lambda tx: changed(tx, target, change), schema=self._schema_of_sessions)

        def act(tx: Tx) -> Run:
            with python_names():
                run = changed(tx, target, change)
            dialect.notify(tx.conn, str((tx.wakes | Wake.EVENTS).value))
            return run

        return self._write(act)

    def close(self) -> None:
        """Close the connection; the jobs know no database any more. Twice is fine."""
        if self._registry.queue is self:
            self._registry.queue = None
        for connection in self._connections:
            if connection is not None:
                connection.close()
        self._database.close_sync()
        self._patient.close_sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect(database_url: str, *, registry: Registry | None = None) -> Connection:
    """Say where the jobs of this process put their runs when they are given no session.

    Args:
        database_url: The database that the nodes use, as for ``cronograph serve``; where the tables are in another
            schema than ``cronograph``, it ends in ``?schema=`` and its name.
        registry: Whose jobs; those of the default registry unless given.

    Raises:
        ConfigurationError: it is no database URL.
        TypeError: ``registry`` is none.
    """
    chosen = registry_or_default(registry)
    chosen.queue = connection = Connection(database_url, chosen)
    return connection


def queue_of(registry: Registry) -> RunQueue | None:
    """Return where the jobs of a registry put their runs; None if nobody has said so."""
    url = os.environ.get(URL_VARIABLE)
    if registry.queue is None and url:
        schema = os.environ.get(SCHEMA_VARIABLE)
        connect(with_schema(url, schema) if schema else url, registry=registry)
    return registry.queue


def enqueued_by_node(spec: RunSpec, run_id: int) -> Run:
    """Return a run that the node of this attempt has put into the queue, as far as it is known here."""
    (run,) = new_runs([spec])
    return stored_here(run, run_id, datetime.now(UTC))


async def in_transaction(session: AsyncTransaction, work: Callable[[Any], T]) -> T:
    """Do something synchronous with the transaction of an asynchronous session or connection of the user's."""
    if isinstance(session, psycopg.AsyncConnection):
        return await lent.in_transaction(session, work)
    return await session.run_sync(work)


def put_in_session(registry: Registry, session: Transaction, spec: RunSpec) -> Enqueued:
    """Put a run of a job of ``registry`` into the queue as part of the transaction of ``session``.

    Raises:
        UserError: a value is invalid.
        StorageError: the database has no tables.
        ConfigurationError: ``CRONOGRAPH_DATABASE_SCHEMA`` is not the name of a schema.
    """
    queue = queue_of(registry)
    if queue is not None:
        return queue.put_in(session, spec)
    return enqueue_sync(session, spec, schema=_named_schema())


def change_in_session(registry: Registry, session: Transaction, target: RunTarget, change: RunChange) -> Run:
    """Change a run as part of the transaction of ``session``; return the run then."""
    queue = queue_of(registry)
    if queue is not None:
        return queue.change(target, change, session)
    return change_in(session, lambda tx: changed(tx, target, change), schema=_named_schema())


def put_many_in_session(registry: Registry, session: Transaction, runs: Iterable[RunSpec]) -> list[int]:
    """Do the same as ``put_in_session`` for many runs, all or none; return their ids in order."""
    queue = queue_of(registry)
    if queue is not None:
        return queue.put_many_in(session, runs)
    return enqueue_many_sync(session, runs, schema=_named_schema())


def put_flow_in_session(registry: Registry, session: Transaction, flow: FlowSpec) -> int:
    """Do the same as ``put_in_session`` for a flow; return its id."""
    queue = queue_of(registry)
    if queue is not None:
        return queue.put_flow_in(session, flow)
    return enqueue_flow_sync(session, flow, schema=_named_schema())


def _named_schema() -> str:
    """Return where a session finds the tables on PostgreSQL if the process has not called ``connect``."""
    named = os.environ.get(SCHEMA_VARIABLE) or SCHEMA
    fault = schema_fault(named)
    if fault is not None:
        raise ConfigurationError(f"{SCHEMA_VARIABLE}: {fault}")
    return named
