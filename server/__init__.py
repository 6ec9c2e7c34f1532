"""The server: as a process of its own (``cronograph serve``), or within another application (``Cronograph``)."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .embedding import Cronograph, Visitor

__all__ = ["Cronograph", "Visitor"]


def __getattr__(name: str) -> object:
    """Import what embeds at its first use: commands that start nothing need none of it."""
    if name in __all__:
        return getattr(import_module(".embedding", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
