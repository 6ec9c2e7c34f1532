"""What every command that runs jobs begins with: the settings, and the jobs; all that is wrong is found in one go."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..jobs.builtin import register_builtin
from ..jobs.core.base.errors import ConfigurationError
from ..jobs.registry import default_registry
from .configuration.choosing import choice_faults, choice_warnings
from .configuration.reading import InvalidSettingsError, load
from .configuration.settings import Settings
from .discovery import JobsNotFoundError, import_jobs, without_jobs
from .exposure import faults_of


@dataclass(frozen=True, slots=True)
class Prepared:
    """The outcome of a preparation.

    Attributes:
        settings: In force; faulty ones are at their defaults.
        faults: What makes a start impossible, one sentence each.
        warnings: What is odd, one sentence each.
        faulty: The names of the settings that are wrong.
    """

    settings: Settings
    faults: list[str]
    warnings: list[str]
    faulty: frozenset[str] = frozenset()

    def checked(self) -> Settings:
        """The settings.

        Raises:
            InvalidSettingsError: there are faults; lists them all.
        """
        if self.faults:
            raise InvalidSettingsError(self.faults, self.warnings, self.settings, self.faulty)
        return self.settings


def prepare(flags: Mapping[str, Any], config_file: Path | None, *, serves_api: bool = True) -> Prepared:
    """Load the settings, judge the host, import the jobs and add the built-in ones.

    Args:
        flags: Setting name to value as given on the command line; None = not given.
        config_file: The configuration file that was named, if one was.
        serves_api: Whether people and programs are to be answered; else it does not matter how they would be reached.
    """
    try:
        loaded = load(flags, config_file)
        prepared = Prepared(loaded.settings, [], loaded.warnings)
    except InvalidSettingsError as error:
        prepared = Prepared(error.partial, error.faults, error.warnings, error.faulty)
    if serves_api:
        prepared.faults.extend(faults_of(prepared.settings))
    try:
        import_jobs(prepared.settings.jobs)
        for module in without_jobs(prepared.settings.jobs, default_registry()):
            prepared.warnings.append(f"jobs: module '{module}' has no job; is it the right one, and is @job there?")
        register_builtin(default_registry(), with_shell=prepared.settings.shell)
        default_registry().check()
        prepared.faults.extend(choice_faults(prepared.settings, default_registry()))
        prepared.warnings.extend(choice_warnings(prepared.settings, default_registry()))
    except JobsNotFoundError as error:
        prepared.faults.extend(error.faults)
    except ConfigurationError as error:
        prepared.faults.append(f"jobs: {error}")
    return prepared
