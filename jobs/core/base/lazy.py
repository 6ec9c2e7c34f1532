"""Modules that are imported at their first use: who never uses them does not pay for them.

An idle server keeps some hundred packages in memory otherwise that it needs for one way to sign in, one kind of job or
the other database. Where one is used, it is imported for the type checkers alone, and is a ``LazyModule`` when it runs.
"""

from importlib import import_module


class LazyModule:
    """Stands for a module; every thread may use it.

    Args:
        name: The module's name.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> object:
        """What the module has under a name; imports it unless that was done.

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
