"""The database for commands that manage accounts without a server: brought up to date first, if nobody serves it."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ...jobs.actions.acting import acting
from ...jobs.core.actor import Actor, Role
from ...jobs.store.db.database import Database
from ...jobs.store.db.filelock import lock_for
from ...jobs.store.db.transaction import Tx
from ..configuration.reading import load
from .schema import migrate, pending

T = TypeVar("T")

COMMAND_LINE = Actor("(command line)", Role.ADMIN)
"""Anyone who can open the database may do everything to it; the audit log says that it was done this way."""


def on_accounts(flags: Mapping[str, Any], config: Path | None, action: Callable[[Tx], T]) -> T:
    """Run an action of ``jobs.actions`` on the database of the settings, whether a server uses it or not.

    Raises:
        InvalidSettingsError: the settings cannot work.
        FileLocked: the schema is to be brought up to date, and a server of another version uses the SQLite file.
        StorageError: the database cannot be used.
        UserError: the action refuses.
    """
    url = load(flags, config).settings.database_url
    _bring_up_to_date(url)
    database = Database(url)
    try:
        return database.write_sync(acting, COMMAND_LINE, action)
    finally:
        asyncio.run(database.close())


def _bring_up_to_date(url: str) -> None:
    if not pending(url):
        return
    lock = lock_for(url)
    if lock is not None:
        lock.acquire()
    try:
        migrate(url)
    finally:
        if lock is not None:
            lock.release()
