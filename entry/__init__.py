"""Cronograph: durable schedules, a fair job queue and an execution log behind one GraphQL API.

Jobs are written with ``cronograph.jobs``, served by ``cronograph serve`` (also ``python -m cronograph``) or
``cronograph.server.Cronograph``, and asked by ``cronograph.graphql.client``. Nothing of that is imported here.
"""

import sys
from importlib import import_module

# An editable installation finds `graphql`, which has no `__init__.py`, by a hook that stands in the module path.
__path__.extend(one for one in sys.path if one.endswith(".__path_hook__"))

__version__: str
"""The version of the installed distribution, looked up in its metadata when it is asked for."""


def __getattr__(name: str) -> str:
    """Return the version at its first use: anyone who only defines jobs does not pay for reading metadata."""
    if name == "__version__":
        version: str = import_module("importlib.metadata").version("cronograph")
        return version
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
