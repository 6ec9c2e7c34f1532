"""``cronograph serve`` with a clock that somebody else sets: off by as many seconds as the file ``clock.txt`` says."""

import sys
from datetime import datetime, timedelta
from pathlib import Path

from typing_extensions import override

from cronograph.jobs.registry import default_registry
from cronograph.jobs.runtime.base.settings import Clock
from cronograph.server.preparation import prepare
from cronograph.server.process.logs import configure_logging
from cronograph.server.service import Service

FILE = "clock.txt"


class SetClock(Clock):
    """The time of day is what the file in the working directory makes of it; without the file it is right."""

    def __init__(self) -> None:
        self._file = Path(FILE).absolute()

    @override
    def wall(self) -> datetime:
        """The time of day as it was set."""
        off = self._file.read_text() if self._file.exists() else ""
        return super().wall() + timedelta(seconds=float(off or "0"))


def main(url: str, port: str, name: str, *modules: str) -> None:
    """Serve until a signal asks for the end."""
    flags = {"database_url": url, "port": int(port), "node_name": name, "jobs": list(modules), "no_auth": True}
    settings = prepare(flags, None).checked()
    configure_logging(settings.log_format, settings.log_level)
    Service(settings, default_registry(), lambda _url, _node: None, clock=SetClock()).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
