"""Which jobs a node within another application runs, by what the call of ``Cronograph`` names."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ..jobs.builtin import register_builtin
from ..jobs.core.base.errors import ConfigurationError
from ..jobs.declared import Job
from ..jobs.registry import JobDefinition, Registry, default_registry
from .discovery import import_modules, jobs_of

JobOrModule: TypeAlias = Job[..., ..., Any] | str


@dataclass(frozen=True, slots=True)
class NamedJobs:
    """The argument ``jobs``: functions with ``@job``, and names of modules whose jobs are all taken.

    Attributes:
        jobs: The functions.
        modules: The names; whether they can be names of modules is not judged here.
        everything: Whether the argument was left out.
    """

    jobs: Sequence[Job[..., ..., Any]]
    modules: Sequence[str]
    everything: bool = False

    @classmethod
    def of(cls, given: Iterable[JobOrModule] | None) -> "NamedJobs":
        """What a call named.

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
        """Whose jobs these are, and a registry of them and the built-in ones; imports the modules.

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
