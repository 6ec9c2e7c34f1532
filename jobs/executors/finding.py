"""Executors are found by their names: built-in ones, and those of other packages by their entry points."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

from ..core.base.errors import ConfigurationError
from ..core.base.resources import EXECUTOR_NAME
from .protocol import GROUP, Executor

KIND: Final = "kind"
"""The setting of an executor that says which one it is, where that is not its name."""
FOLDER: Final = "folder"
"""The setting that says in which shared folder its code finds and leaves messages, where it reaches no server."""
SECRETS: Final = "secrets"
"""The setting that allows secrets in that folder."""

PAGE: Final = "page"
"""The setting that says where a person finds an attempt at the engine: an address with ``{handle}`` or ``{name}``."""

BUILT_IN: Final = (
    EntryPoint("command", "cronograph.jobs.executors.command:CommandExecutor", GROUP),
    EntryPoint("kubernetes", "cronograph.jobs.executors.kubernetes:KubernetesExecutor", GROUP),
    EntryPoint("ray", "cronograph.jobs.executors.ray:RayExecutor", GROUP),
    EntryPoint("slurm", "cronograph.jobs.executors.slurm:SlurmExecutor", GROUP),
)
"""As other packages declare theirs; metadata of a source checkout may be older than its code."""


def installed() -> dict[str, EntryPoint]:
    """Return the kinds of executors that are installed, by name."""
    return {one.name: one for one in (*entry_points(group=GROUP), *BUILT_IN)}


@dataclass(frozen=True, slots=True)
class Engine:
    """An executor as it is configured, and the way by which its code speaks.

    Attributes:
        executor: Hands attempts to the engine.
        folder: Where the code finds and leaves messages; None = it reaches a server.
        takes_secrets: The secrets in arguments may lie in that folder until the code begins.
        page: The address of an attempt's page there, with its handle or its name in it; None = there is none.
        revives: Whether the engine may restart attempts that it has ended, and is asked for them.
    """

    executor: Executor
    folder: Path | None = None
    takes_secrets: bool = False
    page: str | None = None
    revives: bool = False

    def check(self) -> list[str]:
        """Return the things that this executor lacks, in sentences; none: it works."""
        return [*self.executor.check(), *(() if self.folder is None else _folder_faults(self.folder))]


def _folder_faults(folder: Path) -> list[str]:
    if not folder.is_dir():
        return [f"folder: there is no folder {folder}; make it where nodes and engine share it"]
    if not os.access(folder, os.W_OK | os.X_OK):
        return [f"folder: this user may not write to {folder}"]
    if folder.stat().st_mode & 0o022:
        return [f"folder: others may write to {folder}, and so replace what code gets; chmod go-w {folder}"]
    return []


def engine_of(name: str, configured: Mapping[str, Mapping[str, Any]]) -> Engine:
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
    folder, takes_secrets = options.pop(FOLDER, None), options.pop(SECRETS, False)
    page = _page(name, options.pop(PAGE, None))
    if folder is not None and not (isinstance(folder, str) and Path(folder).is_absolute()):
        raise ConfigurationError(
            f"executor '{name}': folder must be an absolute path that nodes and engine share, got {folder!r:.60}"
        )
    if not isinstance(takes_secrets, bool) or (takes_secrets and folder is None):
        raise ConfigurationError(
            f"executor '{name}': secrets must be true or false, and is for executors with a folder, "
            f"got {takes_secrets!r:.60}"
        )
    known = installed()
    if kind not in known:
        there = ", ".join(sorted(known)) or "none"
        raise ConfigurationError(f"executor '{name}': no kind '{kind}' is installed; there are: {there}")
    try:
        make: Callable[..., Executor] = known[kind].load()
        executor = make(name=name, **options)
    except (TypeError, ValueError, ImportError) as error:
        raise ConfigurationError(f"executor '{name}': {error}") from error
    # Some know the pages of their engine themselves.
    page = page or getattr(executor, "page", None)
    revives: bool = getattr(executor, "revives", False)
    return Engine(executor, None if folder is None else Path(folder), takes_secrets, page, revives)


def _page(name: str, given: object) -> str | None:
    if given is None or (isinstance(given, str) and given.startswith(("http://", "https://"))):
        return given
    raise ConfigurationError(
        f"executor '{name}': page must be the address of an attempt's page there, with {{handle}} or {{name}} in it, "
        f"e.g. https://hpc.example.com/jobs/{{handle}}, got {given!r:.60}"
    )
