"""What enqueues, imported at its first use: a module that only defines jobs loads no database driver for it."""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .connection import connect, put_in_session, queue_of
    from .enqueueing import enqueue, enqueue_many, enqueue_many_sync, enqueue_sync

__all__ = [
    "connect",
    "enqueue",
    "enqueue_many",
    "enqueue_many_sync",
    "enqueue_sync",
    "put_in_session",
    "queue_of",
]

_HOMES: Final = MappingProxyType(
    {
        "connect": (".connection", "connect"),
        "enqueue": (".enqueueing", "enqueue"),
        "enqueue_many": (".enqueueing", "enqueue_many"),
        "enqueue_many_sync": (".enqueueing", "enqueue_many_sync"),
        "enqueue_sync": (".enqueueing", "enqueue_sync"),
        "put_in_session": (".connection", "put_in_session"),
        "queue_of": (".connection", "queue_of"),
    }
)


def __getattr__(name: str) -> object:
    """Import it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, found = _HOMES[name]
    return getattr(import_module(module, __package__), found)
