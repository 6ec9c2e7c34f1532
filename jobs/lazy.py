"""Import enqueueing at its first use: a module that only defines jobs loads no database driver for it."""

from typing import TYPE_CHECKING

from .core.base.lazy import lazy_exports

if TYPE_CHECKING:
    from .connection import (
        change_in_session,
        connect,
        enqueued_by_node,
        in_transaction,
        put_flow_in_session,
        put_in_session,
        queue_of,
    )
    from .enqueueing import enqueue, enqueue_many, enqueue_many_sync, enqueue_sync

__all__ = [
    "change_in_session",
    "connect",
    "enqueue",
    "enqueue_many",
    "enqueue_many_sync",
    "enqueue_sync",
    "enqueued_by_node",
    "in_transaction",
    "put_flow_in_session",
    "put_in_session",
    "queue_of",
]

__getattr__ = lazy_exports(
    __package__,
    {
        ".connection": (
            "change_in_session",
            "connect",
            "enqueued_by_node",
            "in_transaction",
            "put_flow_in_session",
            "put_in_session",
            "queue_of",
        ),
        ".enqueueing": ("enqueue", "enqueue_many", "enqueue_many_sync", "enqueue_sync"),
    },
)
