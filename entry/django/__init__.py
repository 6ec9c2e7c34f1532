"""Cronograph within a Django project: put ``cronograph.django`` into ``INSTALLED_APPS``.

See ``cronograph.server.django``, where it is made.
"""

from typing import TYPE_CHECKING

from cronograph.server import django as _made

if TYPE_CHECKING:
    from cronograph.server.django import CronographTestMixin, TaskBackend, enqueue_on_commit, staff, with_dashboard

__all__ = ["CronographTestMixin", "TaskBackend", "enqueue_on_commit", "staff", "with_dashboard"]


def __getattr__(name: str) -> object:
    """Import the name at its first use: Django imports this package before its apps are ready."""
    return getattr(_made, name)
