"""What commands share that work straight in the database, without a server: their options, and how they answer."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from ...jobs.store.db.transaction import Tx
from ..configuration.reading import load
from ..configuration.settings import Settings
from ..database.accounts import on_accounts
from .options import ConfigFile, DatabaseUrl, option, with_options
from .output import AS_JSON, Output

P = ParamSpec("P")
T = TypeVar("T")


class DatabaseCommand:
    """Where such a command works.

    Attributes:
        output: How it answers.
    """

    def __init__(self, database_url: str | None, config: Path | None, output: Output) -> None:
        self.output = output
        self._flags = {"database_url": database_url}
        self._config = config

    @property
    def settings(self) -> Settings:
        """What is set for the server of this database."""
        return load(self._flags, self._config).settings

    def do(self, action: Callable[[Tx], T]) -> T:
        """Run an action in one transaction, in the name of the command line."""
        return on_accounts(self._flags, self._config, action)

    def result(self, data: Mapping[str, Any], text: str) -> None:
        """What was done or found: ``data`` for programs, ``text`` for people."""
        self.output.result({"ok": True, **data}, text)


def database_command(function: Callable[Concatenate[DatabaseCommand, P], None]) -> Callable[..., None]:
    """A command that takes ``--database-url``, ``--config`` and ``--json`` after its own options."""

    def working(*args: P.args, **given: P.kwargs) -> None:
        said = cast("dict[str, Any]", given)
        output = Output(as_json=said.pop("as_json", False))
        command = DatabaseCommand(said.pop("database_url", None), said.pop("config", None), output)
        with output.errors():
            function(command, *args, **given)

    own = option("database_url", DatabaseUrl), option("config", ConfigFile)
    return with_options(function, working, after=(*own, AS_JSON))
