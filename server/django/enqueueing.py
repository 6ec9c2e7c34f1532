"""The queue of a Django project: runs are part of Django's own transaction, if both have one database."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, ParamSpec

import psycopg
from asgiref.sync import sync_to_async
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, transaction

from ...jobs import Job, Registry, RunHandle, RunSpec
from ...jobs.connection import Connection
from ...jobs.core.base.errors import UserError
from ...jobs.core.flows import FlowSpec
from ...jobs.core.model import Enqueued, Execution, Run
from ...jobs.core.run_spec import RunTarget
from ...jobs.core.waits import RunChange
from ...jobs.queue.enqueue.enqueue import Transaction
from .choices import choices


@contextmanager
def joined(alias: str) -> Generator[Transaction]:
    """Yield the connection on which the transaction of one of Django's databases is; one begins if none is open.

    Args:
        alias: Of the database in ``DATABASES``.

    Raises:
        ImproperlyConfigured: Django speaks to it by another driver than psycopg 3.
        UserError: as the block raised it.
    """
    refused: UserError | None = None
    # Of an error of the database Django learns as of its own: what follows is refused, and all is rolled back.
    block: Any = transaction.atomic(using=alias, savepoint=False)
    with block:
        connection: Any = connections[alias]
        connection.ensure_connection()
        driver = connection.connection
        if connection.vendor != "sqlite" and not isinstance(driver, psycopg.Connection):
            raise ImproperlyConfigured(
                f"CRONOGRAPH['DATABASE']: must be reached by psycopg 3, got '{alias}' by {type(driver).__module__}"
            )
        try:
            yield driver
        except UserError as error:
            # Nothing was sent, or it was taken back: the transaction goes on.
            refused = error
    if refused is not None:
        raise refused


P = ParamSpec("P")


class DjangoQueue:
    """The queue of a Django project; see ``RunQueue``. The settings are read with the first use."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @cached_property
    def _alias(self) -> str | None:
        return choices().alias

    @cached_property
    def _own(self) -> Connection:
        return Connection(choices().url, self._registry)

    @property
    def schema(self) -> str:
        """See ``RunQueue``."""
        return self._own.schema

    def put(self, spec: RunSpec) -> Enqueued:
        """Put a run into the queue: with Django's transaction, or at once where the database is another."""
        if self._alias is None:
            return self._own.put(spec)
        with joined(self._alias) as conn:
            return self._own.put_in(conn, spec)

    async def put_in_loop(self, spec: RunSpec) -> Enqueued:
        """Do the same as ``put`` in a task of an event loop, in the thread that has Django's connections."""
        return await sync_to_async(self.put)(spec)

    def put_in(self, session: Transaction, spec: RunSpec) -> Enqueued:
        """See ``RunQueue``."""
        return self._own.put_in(session, spec)

    def put_many_in(self, session: Transaction, runs: Iterable[RunSpec]) -> list[int]:
        """See ``RunQueue``."""
        return self._own.put_many_in(session, runs)

    def put_flow(self, flow: FlowSpec) -> int:
        """Put a flow into the queue: with Django's transaction, or at once where the database is another."""
        if self._alias is None:
            return self._own.put_flow(flow)
        with joined(self._alias) as conn:
            return self._own.put_flow_in(conn, flow)

    def put_flow_in(self, session: Transaction, flow: FlowSpec) -> int:
        """See ``RunQueue``."""
        return self._own.put_flow_in(session, flow)

    def find(self, target: RunTarget) -> Run | None:
        """See ``RunQueue``."""
        return self._own.find(target)

    def history(self, run_id: int) -> tuple[Run, Sequence[Execution]] | None:
        """See ``RunQueue``; it includes the runs of Django's open transaction."""
        if self._alias is None or not connections[self._alias].in_atomic_block:
            return self._own.history(run_id)
        with joined(self._alias) as conn:
            return self._own.history(run_id, conn)

    def change(self, target: RunTarget, change: RunChange, session: "Transaction | None" = None) -> Run:
        """Change a run: with Django's transaction, or at once where the database is another."""
        if self._alias is None or session is not None:
            return self._own.change(target, change, session)
        with joined(self._alias) as conn:
            return self._own.change(target, change, conn)


def enqueue_on_commit(job: Job[Any, P, Any], *args: P.args, **kwargs: P.kwargs) -> RunHandle | None:
    """Enqueue a run that exists if, and only if, the transaction that Django has open is committed.

    Where Cronograph's tables are in the same database, the run is part of the transaction. Where they are in another,
    it is enqueued after the commit; a process that dies in between loses it.

    Args:
        job: Which job.
        args: Its arguments.
        kwargs: Its arguments by name.

    Returns:
        The run; None if it will be enqueued after the commit.
    """
    chosen = choices()
    if chosen.alias is None and transaction.get_connection().in_atomic_block:
        transaction.on_commit(lambda: job.enqueue_sync(None, *args, **kwargs))
        return None
    return job.enqueue_sync(None, *args, **kwargs)


def latest_runs(number: int) -> list[Run]:
    """Return the newest runs of the project, by a connection that is closed again.

    Raises:
        StorageError: the database has no tables, or cannot be reached.
    """
    with Connection(choices().url, Registry()) as connection:
        return connection.latest(number)
