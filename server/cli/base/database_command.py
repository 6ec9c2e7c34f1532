"""The base of commands that work straight in the database, without a server: their options and their answers."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from ....jobs.actions.idempotent import acting
from ....jobs.core.actor import Actor, Role
from ....jobs.core.base.errors import ConfigurationError
from ....jobs.store.db.database import Database
from ....jobs.store.db.filelock import lock_for
from ....jobs.store.db.transaction import Tx
from ...configuration.reading import load
from ...configuration.settings import Settings
from ...database.schema import migrate, missing, pending
from .options import ConfigFile, Create, DatabaseUrl, option, with_options
from .output import AS_JSON, Output

P = ParamSpec("P")
T = TypeVar("T")

COMMAND_LINE = Actor("(command line)", Role.ADMIN)
"""Anyone who can open the database may do everything to it; the audit log says that it was done this way."""


class DatabaseCommand:
    """Give such a command its settings, its database and its output."""

    def __init__(self, database_url: str | None, config: Path | None, output: Output, *, create: bool = False) -> None:
        self.output = output
        self._flags = {"database_url": database_url}
        self._config = config
        self._create = create

    @property
    def settings(self) -> Settings:
        """Return the settings of the server of this database."""
        return load(self._flags, self._config).settings

    def check_database(self) -> str:
        """Return the URL of a database that is there, or is made because it shall be.

        Raises:
            ConfigurationError: it is not there, and shall not be made.
        """
        url = self.settings.database_url
        fault = missing(url)
        if fault is not None and not self._create:
            raise ConfigurationError(
                f"{fault}; is this the folder of the server? Name its database by --database-url or --config, or make "
                "a new one by --create"
            )
        if fault is not None:
            _bring_up_to_date(url)
        return url

    def do(self, action: Callable[[Tx], T]) -> T:
        """Run an action in one transaction, in the name of the command line, whether a server uses the database or not.

        Raises:
            ConfigurationError: the settings cannot work, or there is no database.
            FileLocked: the schema is to be brought up to date, and a server of another version uses the SQLite file.
            StorageError: the database cannot be used.
            UserError: the action refuses.
        """
        url = self.check_database()
        _bring_up_to_date(url)
        database = Database(url)
        try:
            return database.write_sync(acting, COMMAND_LINE, action)
        finally:
            asyncio.run(database.close())

    def result(self, data: Mapping[str, Any], text: str) -> None:
        """Answer with ``data`` for programs, and ``text`` for people."""
        self.output.result({"ok": True, **data}, text)


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


def database_command(function: Callable[Concatenate[DatabaseCommand, P], None]) -> Callable[..., None]:
    """Return a command with ``--database-url``, ``--config``, ``--create`` and ``--json`` after its own options."""

    def working(*args: P.args, **given: P.kwargs) -> None:
        values = cast("dict[str, Any]", given)
        output = Output(as_json=values.pop("as_json", False))
        url, config, create = values.pop("database_url", None), values.pop("config", None), values.pop("create", False)
        command = DatabaseCommand(url, config, output, create=create)
        with output.errors():
            function(command, *args, **given)

    own = option("database_url", DatabaseUrl), option("config", ConfigFile), option("create", Create, default=False)
    return with_options(function, working, after=(*own, AS_JSON))
