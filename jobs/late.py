"""What enqueues, imported at its first use: a module that only defines jobs loads no database driver for it."""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .actions.queue.enqueue import enqueue_sync as put_sync
    from .connection import connect, queue_of, schema_of
    from .enqueueing import enqueue, enqueue_many, enqueue_many_sync, enqueue_sync

__all__ = [
    "connect",
    "enqueue",
    "enqueue_many",
    "enqueue_many_sync",
    "enqueue_sync",
    "put_sync",
    "queue_of",
    "schema_of",
]

_HOMES: Final = MappingProxyType(
    {
        "connect": (".connection", "connect"),
        "enqueue": (".enqueueing", "enqueue"),
        "enqueue_many": (".enqueueing", "enqueue_many"),
        "enqueue_many_sync": (".enqueueing", "enqueue_many_sync"),
        "enqueue_sync": (".enqueueing", "enqueue_sync"),
        "put_sync": (".actions.queue.enqueue", "enqueue_sync"),
        "queue_of": (".connection", "queue_of"),
        "schema_of": (".connection", "schema_of"),
    }
)


def __getattr__(name: str) -> object:
    """Import it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, found = _HOMES[name]
    return getattr(import_module(module, __package__), found)
