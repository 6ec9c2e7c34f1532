"""``cronograph executors``: whether the engines that are set can be used from here."""

from dataclasses import dataclass

import typer

from ...jobs.core.base.errors import ConfigurationError
from ...jobs.executors.finding import KIND, engine_of, installed
from ..configuration.reading import load
from ..configuration.settings import Settings
from ..process.ending import ExitCode
from .base.options import ConfigFile
from .base.output import Output, answering


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    kind: str
    missing: tuple[str, ...]

    def lines(self) -> list[str]:
        head = f"{self.name} ({self.kind})" if self.kind != self.name else self.name
        return [
            f"{head}: {'something is missing' if self.missing else 'can be used'}",
            *(f"  {one}" for one in self.missing),
        ]


@answering
def executors(output: Output, config: ConfigFile = None) -> None:
    """Check each executor of the configuration: whether its engine can be used from here, and if not, why.

    Nothing is submitted. Status 1 means that something is missing.
    """
    settings = load({}, config).settings
    found = [_examined(name, settings) for name in sorted(settings.executors)]
    ok = not any(one.missing for one in found)
    shown = [{"name": one.name, "kind": one.kind, "missing": list(one.missing)} for one in found]
    nothing = f"No executor is set; the kinds that are installed: {', '.join(sorted(installed()))}"
    text = "\n".join(line for one in found for line in one.lines()) if found else nothing
    output.result({"ok": ok, "executors": shown, "kinds": sorted(installed())}, text)
    if not ok:
        raise typer.Exit(ExitCode.REFUSED)


def _examined(name: str, settings: Settings) -> _Found:
    kind = str(settings.executors[name].get(KIND, name))
    try:
        missing = tuple(engine_of(name, settings.executors).check())
    except ConfigurationError as error:
        missing = (str(error),)
    return _Found(name, kind, missing)
