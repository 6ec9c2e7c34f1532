"""The queue of a process that only enqueues: its own connection to the database that the nodes use."""

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from .actions.enqueue import enqueue_sync
from .actions.runs import cancel_runs
from .core.model import Json, Run
from .registry import Registry, default_registry
from .registry.queue import RunQueue
from .store.db import dialect
from .store.db.database import Database
from .store.db.transaction import Tx, Wake
from .store.read import runs as stored_runs

URL_VARIABLE = "CRONOGRAPH_DATABASE_URL"
"""Names the database of a process that has not called ``connect``."""


class Connection:
    """Puts runs into the queue and looks after them, from any thread; opens its connection with the first use.

    ``with connect(…):`` closes it at the end.

    Args:
        database_url: As for ``cronograph serve``.
        registry: Whose jobs use it.
    """

    def __init__(self, database_url: str, registry: Registry) -> None:
        self._database = Database(database_url)
        self._registry = registry

    def put(self, job_name: str, args: Mapping[str, Json], options: Mapping[str, Any]) -> Run:
        """Put a run into the queue, committed when this returns; ``options`` as of ``enqueue_sync``.

        Raises:
            UserError: values are not what they must be.
        """
        return self._database.write_sync(lambda tx: enqueue_sync(tx.conn, job_name, args, **options))

    def find(self, run_id: int) -> Run | None:
        """The run as it is now; None if it has been pruned."""
        return self._database.write_sync(lambda tx: stored_runs.by_ids(tx.conn, [run_id]).get(run_id))

    def cancel(self, run_id: int, reason: str | None) -> Run:
        """Cancel a run as far as it is unfinished; the run afterwards.

        Raises:
            NotFound: it has been pruned.
        """

        def cancel(tx: Tx) -> Run:
            (run,) = cancel_runs(tx, [run_id], reason=reason)
            dialect.notify(tx.conn, str((tx.wakes | Wake.EVENTS).value))
            return run

        return self._database.write_sync(cancel)

    def close(self) -> None:
        """Close the connection; the jobs know no database any more. Twice is fine."""
        if self._registry.queue is self:
            self._registry.queue = None
        self._database.close_sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect(database_url: str, *, registry: Registry | None = None) -> Connection:
    """Say where the jobs of this process put their runs when they are given no session.

    Args:
        database_url: The database that the nodes use, as for ``cronograph serve``.
        registry: Whose jobs; those of the default registry unless given.

    Raises:
        ConfigurationError: it is no database URL.
    """
    chosen = registry if registry is not None else default_registry()
    chosen.queue = connection = Connection(database_url, chosen)
    return connection


def queue_of(registry: Registry) -> RunQueue | None:
    """Where the jobs of a registry put their runs; None if nobody has said so."""
    url = os.environ.get(URL_VARIABLE)
    if registry.queue is None and url:
        connect(url, registry=registry)
    return registry.queue
