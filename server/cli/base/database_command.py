"""The base of commands that work straight in the database, without a server: their options and their answers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from ....jobs.core.base.errors import ConfigurationError
from ....jobs.store.db.transaction import Tx
from ...configuration.reading import load
from ...configuration.settings import Settings
from ...database.accounts import on_accounts
from ...database.schema import missing
from .options import ConfigFile, Create, DatabaseUrl, option, with_options
from .output import AS_JSON, Output

P = ParamSpec("P")
T = TypeVar("T")


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
        """Let a database pass that is there, or shall be made; its URL.

        Raises:
            ConfigurationError: it is not, and shall not be.
        """
        url = self.settings.database_url
        fault = None if self._create else missing(url)
        if fault is not None:
            raise ConfigurationError(
                f"{fault}; is this the folder of the server? Name its database by --database-url or --config, or make "
                "a new one by --create"
            )
        return url

    def do(self, action: Callable[[Tx], T]) -> T:
        """Run an action in one transaction, in the name of the command line; of a database that is there."""
        self.check_database()
        return on_accounts(self._flags, self._config, action)

    def result(self, data: Mapping[str, Any], text: str) -> None:
        """Answer with ``data`` for programs, and ``text`` for people."""
        self.output.result({"ok": True, **data}, text)


def database_command(function: Callable[Concatenate[DatabaseCommand, P], None]) -> Callable[..., None]:
    """A command that takes ``--database-url``, ``--config``, ``--create`` and ``--json`` after its own options."""

    def working(*args: P.args, **given: P.kwargs) -> None:
        values = cast("dict[str, Any]", given)
        output = Output(as_json=values.pop("as_json", False))
        url, config, create = values.pop("database_url", None), values.pop("config", None), values.pop("create", False)
        command = DatabaseCommand(url, config, output, create=create)
        with output.errors():
            function(command, *args, **given)

    own = option("database_url", DatabaseUrl), option("config", ConfigFile), option("create", Create, default=False)
    return with_options(function, working, after=(*own, AS_JSON))
