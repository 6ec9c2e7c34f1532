"""What ``manage.py cronograph`` adds to the command line: the database and the jobs of the project."""
# Django has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from django.apps import apps

from .choices import Choices, choices


def job_modules(chosen: Choices) -> list[str]:
    """The modules whose jobs the project runs: ``jobs.py`` of each app, and those that the settings name."""
    found = [f"{app.name}.jobs" for app in apps.get_app_configs()] if chosen.autodiscover else []
    own = [name for name in found if not name.startswith("cronograph.") and find_spec(name) is not None]
    return [*own, *(name for name in chosen.jobs if name not in own)]


def environment() -> dict[str, str]:
    """The settings of the server as variables, which flags and variables of the user's go before.

    Raises:
        ImproperlyConfigured: what ``CRONOGRAPH`` says cannot work.
    """
    chosen = choices()
    values = {"database_url": chosen.url, "jobs": ",".join(job_modules(chosen)), **(chosen.settings or {})}
    return {f"CRONOGRAPH_{name.upper()}": str(value) for name, value in values.items() if value not in {"", None}}


def run(arguments: Sequence[str]) -> int:
    """Run a command of Cronograph; its exit status. Variables and arguments of this process are as before then.

    Raises:
        ImproperlyConfigured: what ``CRONOGRAPH`` says cannot work.
    """
    before, words = dict(os.environ), sys.argv
    for name, value in environment().items():
        os.environ.setdefault(name, value)
    sys.argv = ["cronograph", *arguments]
    try:
        import_module("cronograph.__main__").main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = words
        os.environ.clear()
        os.environ.update(before)
    return 0
