"""Import enqueueing at its first use: a module that only defines jobs loads no database driver for it."""

from typing import TYPE_CHECKING

from .core.base.lazy import lazy_exports

if TYPE_CHECKING:
    from .connection import (
        cancel_in_session,
        connect,
        put_flow_in_session,
        put_in_session,
        queue_of,
        run_of,
        signal_in_session,
    )
    from .enqueueing import enqueue, enqueue_many, enqueue_many_sync, enqueue_sync

__all__ = [
    "cancel_in_session",
    "connect",
    "enqueue",
    "enqueue_many",
    "enqueue_many_sync",
    "enqueue_sync",
    "put_flow_in_session",
    "put_in_session",
    "queue_of",
    "run_of",
    "signal_in_session",
]

__getattr__ = lazy_exports(
    __package__,
    {
        ".connection": (
            "cancel_in_session",
            "connect",
            "put_flow_in_session",
            "put_in_session",
            "queue_of",
            "run_of",
            "signal_in_session",
        ),
        ".enqueueing": ("enqueue", "enqueue_many", "enqueue_many_sync", "enqueue_sync"),
    },
)
