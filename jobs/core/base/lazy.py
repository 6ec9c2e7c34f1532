"""Modules that are imported at their first use: who never uses them does not pay for them.

An idle server keeps some hundred packages in memory otherwise that it needs for one way to sign in, one kind of job or
the other database. Where one is used, it is imported for the type checkers alone, and is a ``LazyModule`` when it runs.
"""

from collections.abc import Callable, Mapping
from importlib import import_module


class LazyModule:
    """Stands for a module; every thread may use it."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> object:
        """Return the module's member of this name; imports it unless that was done.

        Raises:
            ModuleNotFoundError: there is no such module.
            AttributeError: it has nothing of that name.
        """
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


def load(*modules: object) -> None:
    """Import modules that are ``LazyModule``, for example in a thread before an event loop uses them."""
    for one in modules:
        if isinstance(one, LazyModule):
            import_module(one.__name__)


def lazy_exports(package: str | None, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """Return a ``__getattr__`` for a module whose names are imported at their first use.

    Args:
        package: The package in which the modules are looked up.
        homes: Names by the module that defines them, e.g. ``{".queue": ("Queue", "DrainedRun")}``.
    """
    modules = {name: module for module, names in homes.items() for name in names}

    def load_name(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name], package), name)

    return load_name
