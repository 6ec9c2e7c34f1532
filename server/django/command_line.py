"""The command line of ``manage.py cronograph``, with the database and the jobs of the project."""

import json
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import cast

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured

from ...jobs.registry import default_registry
from ..configuration.settings import NAMES
from .choices import OF_TASK, Choices, choices


def job_modules(chosen: Choices) -> list[str]:
    """Return the modules with the project's jobs: ``jobs.py`` of each app, those in the settings, those with tasks."""
    found = [f"{app.name}.jobs" for app in apps.get_app_configs()] if chosen.autodiscover else []
    own = [name for name in found if not name.startswith("cronograph.") and find_spec(name) is not None]
    of_tasks = {one.handler.__module__ for one in default_registry() if hasattr(one.handler, OF_TASK)}
    return [*dict.fromkeys([*own, *chosen.jobs, *sorted(of_tasks)])]


def environment() -> dict[str, str]:
    """Return the settings of the server as variables, which flags and variables of the user's go before.

    Raises:
        ImproperlyConfigured: the settings in ``CRONOGRAPH`` cannot work.
    """
    chosen = choices()
    settings = chosen.settings or {}
    for name in (one for one in settings if one not in NAMES):
        near = get_close_matches(str(name), NAMES, 1)
        hint = f"; did you mean '{near[0]}'?" if near else "; see the settings of the server"
        raise ImproperlyConfigured(f"CRONOGRAPH['SETTINGS']: has no setting {name!r:.60}{hint}")
    values = {"database_url": chosen.url, "jobs": job_modules(chosen) or None, **settings}
    return {f"CRONOGRAPH_{name.upper()}": _text(value) for name, value in values.items() if value is not None}


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, cast("Sequence[object]", value)))
    return json.dumps(value) if isinstance(value, dict | bool) else str(value)


def run(arguments: Sequence[str]) -> int:
    """Run a command of Cronograph; return its exit status. Variables and arguments of this process are as before then.

    Raises:
        ImproperlyConfigured: the settings in ``CRONOGRAPH`` cannot work.
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
