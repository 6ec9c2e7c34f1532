"""The server: as a process of its own (``cronograph serve``), or within another application (``Cronograph``)."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..jobs.core.base.errors import FileLocked, SchemaTooNew
    from .database.schema import migrate
    from .embedding import Cronograph, Visitor

__all__ = ["Cronograph", "FileLocked", "SchemaTooNew", "Visitor", "migrate"]

_HOME: Final = {
    "Cronograph": ".embedding",
    "FileLocked": "..jobs.core.base.errors",
    "SchemaTooNew": "..jobs.core.base.errors",
    "Visitor": ".embedding",
    "migrate": ".database.schema",
}


def __getattr__(name: str) -> object:
    """Import the modules for embedding at their first use: other commands do not need them.

    Raises:
        ModuleNotFoundError: the extra ``server`` is not installed.
    """
    if name in _HOME:
        try:
            return getattr(import_module(_HOME[name], __name__), name)
        except ModuleNotFoundError as error:
            library = (error.name or "").partition(".")[0]
            if library in {"", "cronograph"}:
                raise
            raise ModuleNotFoundError(
                f"cronograph.server.{name} needs {library}, which is not installed: pip install 'cronograph[server]'",
                name=error.name,
            ) from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
