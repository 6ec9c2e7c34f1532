"""Finds the jobs: imports the modules that were asked for, and the entry points of installed packages."""

import importlib
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias, cast

from ..jobs.builtin import register_builtin
from ..jobs.core.base.errors import ConfigurationError
from ..jobs.declared import Job
from ..jobs.registry import JobDefinition, Registry, default_registry

JobOrModule: TypeAlias = Job[..., ..., Any] | str


@dataclass(frozen=True, slots=True)
class NamedJobs:
    """The argument ``jobs``: functions with ``@job``, and names of modules whose jobs are all taken.

    Attributes:
        modules: The names; whether they can be names of modules is not judged here.
        everything: Whether the argument was left out.
    """

    jobs: Sequence[Job[..., ..., Any]]
    modules: Sequence[str]
    everything: bool = False

    @classmethod
    def of(cls, given: Iterable[JobOrModule] | None) -> "NamedJobs":
        """Read the argument of a call.

        Raises:
            ConfigurationError: something else than jobs and names.
        """
        if given is None:
            return cls((), (), everything=True)
        several = cast("object", given)
        if isinstance(several, Job) or not isinstance(several, Iterable):
            raise ConfigurationError(f"jobs: must be a list of jobs or module names, got {_shown(several)}")
        named: list[object] = [part.strip() for part in given.split(",")] if isinstance(given, str) else list(given)
        strange = next((one for one in named if not isinstance(one, Job | str)), None)
        if strange is not None:
            raise ConfigurationError(
                f"jobs: must be functions with @job, or names of modules that have some, got {_shown(strange)}"
            )
        jobs: list[Job[..., ..., Any]] = [one for one in named if isinstance(one, Job)]
        return cls(jobs, [one for one in named if isinstance(one, str)])

    def registries(self, registry: Registry | None, *, shell: bool = False) -> tuple[Registry, Registry]:
        """Import the modules; return the registry of these jobs, and a new one of them and the built-in ones.

        Args:
            registry: As the call names it.
            shell: Whether the job ``shell`` comes along.

        Raises:
            ConfigurationError: a module cannot be imported or has no job, or the jobs are of several registries.
        """
        import_modules(self.modules)
        home = default_registry() if registry is None else registry
        found = [(job.definition, job.registry) for job in self.jobs]
        for name in self.modules:
            of_module = jobs_of(sys.modules[name], home)
            if not of_module:
                raise ConfigurationError(f"jobs: module '{name}' has no job; mark functions in it with @job")
            found += of_module
        homes = list({id(one): one for _, one in found}.values())
        if len(homes) > 1 or (homes and registry not in (None, homes[0])):
            raise ConfigurationError(
                "jobs: must all be of one registry, the one that is given; start one Cronograph for each"
            )
        home = homes[0] if homes else home
        definitions = home if self.everything else {definition.name: definition for definition, _ in found}.values()
        return home, _with_built_in(home, definitions, shell=shell)


def _with_built_in(home: Registry, definitions: Iterable[JobDefinition], *, shell: bool) -> Registry:
    own = Registry()
    own.hooks = home.hooks
    for definition in definitions:
        own.add(definition)
    register_builtin(own, with_shell=shell)
    return own


def _shown(value: Any) -> str:  # noqa: ANN401 - anything a caller without types gave
    name = getattr(value, "__name__", None)
    return f"{type(value).__name__} {name if isinstance(name, str) else repr(value)}"[:100]


_OWN: Final = "cronograph."
"""Modules of ours begin so."""
ENTRY_POINT_GROUP = "cronograph.jobs"
"""Installed packages name a module of theirs in this group, and its jobs are found without being asked for."""


class JobsNotFoundError(ConfigurationError):
    """Job modules that could not be imported; lists every one.

    Attributes:
        faults: One sentence each.
    """

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = list(faults)


def import_jobs(modules: Sequence[str]) -> None:
    """Import ``modules`` and every entry point of the group; importing them registers their jobs.

    The working directory is searched last, so that a folder in it cannot hide an installed package.

    Raises:
        JobsNotFoundError: some could not be imported; says which and why, with the line that failed.
    """
    faults = _import_faults(modules)
    for point in entry_points(group=ENTRY_POINT_GROUP):
        distribution = point.dist.name if point.dist is not None else "an installed package"
        fault = _attempt(point.load, f"entry point '{point.name} = {point.value}' of {distribution}")
        if fault:
            faults.append(fault)
    if faults:
        raise JobsNotFoundError(faults)


def import_modules(modules: Sequence[str]) -> None:
    """Import ``modules`` alone, as ``import_jobs`` does.

    Raises:
        JobsNotFoundError: some could not be imported.
    """
    faults = _import_faults(modules) if modules else []
    if faults:
        raise JobsNotFoundError(faults)


def jobs_of(module: ModuleType, registry: Registry) -> list[tuple[JobDefinition, Registry]]:
    """Return the jobs that a module defines or imports, and the jobs in ``registry`` from modules below it."""
    held: list[Job[..., ..., Any]] = [value for value in vars(module).values() if isinstance(value, Job)]
    found = {id(one.definition): (one.definition, one.registry) for one in held}
    for definition in registry:
        home = getattr(definition.handler, "__module__", "")
        if home == module.__name__ or home.startswith(f"{module.__name__}."):
            found.setdefault(id(definition), (definition, registry))
    return list(found.values())


def _import_faults(modules: Sequence[str]) -> list[str]:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
    return [fault for name in dict.fromkeys(modules) if (fault := _imported(name))]


def without_jobs(modules: Sequence[str], registry: Registry) -> list[str]:
    """Return the imported ``modules`` that neither define, nor hold by import, any job of ``registry``."""
    homes = {getattr(definition.handler, "__module__", "") for definition in registry}
    own = {id(definition) for definition in registry}

    def has_job(name: str) -> bool:
        if any(home == name or home.startswith(f"{name}.") for home in homes):
            return True
        values = vars(sys.modules[name]).values()
        return any(isinstance(value, Job) and id(value.definition) in own for value in values)

    return [name for name in dict.fromkeys(modules) if name in sys.modules and not has_job(name)]


def _imported(name: str) -> str | None:
    missing = _missing_part(name)
    if missing is not None:
        where = "neither installed nor in the working directory"
        return f"jobs: must be modules that can be imported, got '{name}'; '{missing}' is {where} ({Path.cwd()})"
    return _attempt(lambda: importlib.import_module(name), f"module '{name}'")


def _missing_part(name: str) -> str | None:
    """Return the first package on the way to ``name`` that does not exist; importing its parents may run their code."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        partial = ".".join(parts[:count])
        try:
            if find_spec(partial) is None:
                return partial
        except ModuleNotFoundError:
            # The parent is a module, not a package, or imports something that is missing: importing it will tell.
            return partial if parts[0] in sys.modules and count == len(parts) else None
        except Exception:  # noqa: BLE001 - the code of a parent failed: importing it says how
            return None
    return None


def _attempt(load: Callable[[], object], what: str) -> str | None:
    """Run ``load``; if it fails, one sentence with the error and the line of the user's code that raised it."""
    try:
        load()
    except ConfigurationError as error:
        return f"jobs: {error}"
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anything may go wrong in foreign code; all of it is reported
        place = f" ({error.filename}, line {error.lineno})" if isinstance(error, SyntaxError) else _place(error)
        return f"jobs: importing {what} failed: {type(error).__name__}: {error}{place}"
    return None


def _place(error: BaseException) -> str:
    """Return where an error was raised, or where code of ours that raised it was called."""
    frames = [
        (frame.f_code.co_filename, line, str(frame.f_globals.get("__name__")))
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not _is_machinery(frame.f_code.co_filename)
    ]
    of_user = [*takewhile(lambda frame: not frame[2].startswith(_OWN), frames)] or frames
    return f" ({of_user[-1][0]}, line {of_user[-1][1]})" if of_user else ""


def _is_machinery(filename: str) -> bool:
    return filename.startswith("<frozen importlib") or filename in {__file__, importlib.__file__}
