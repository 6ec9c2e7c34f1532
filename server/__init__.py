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
    """Import what embeds at its first use: commands that start nothing need none of it."""
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
