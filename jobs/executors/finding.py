"""Executors are found by their names: built-in ones, and those of other packages by their entry points."""

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from ..core.base.errors import ConfigurationError
from ..core.remote.resources import EXECUTOR_NAME
from .protocol import GROUP, Executor

KIND = "kind"
"""The setting of an executor that says which one it is, where that is not its name."""


BUILT_IN: Final = (EntryPoint("command", "cronograph.jobs.executors.command:CommandExecutor", GROUP),)
"""As other packages declare theirs; metadata of a source checkout may be older than its code."""


def installed() -> dict[str, EntryPoint]:
    """The kinds of executors that are installed, by name."""
    return {one.name: one for one in (*entry_points(group=GROUP), *BUILT_IN)}


def executor_of(name: str, configured: Mapping[str, Mapping[str, Any]]) -> Executor:
    """Make an executor by its name.

    Args:
        name: As ``isolation`` says it.
        configured: The settings of all executors by name.

    Raises:
        ConfigurationError: there is none, or its settings do not fit.
    """
    if not EXECUTOR_NAME.fullmatch(name):
        raise ConfigurationError(f"executor {name!r:.60}: a name begins with a letter and has a-z, 0-9, '-' and '_'")
    options = dict(configured.get(name, {}))
    kind = options.pop(KIND, name)
    known = installed()
    if kind not in known:
        there = ", ".join(sorted(known)) or "none"
        raise ConfigurationError(f"executor '{name}': no kind '{kind}' is installed; there are: {there}")
    try:
        make: Callable[..., Executor] = known[kind].load()
        return make(name=name, **options)
    except (TypeError, ValueError, ImportError) as error:
        raise ConfigurationError(f"executor '{name}': {error}") from error
