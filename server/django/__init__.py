"""Cronograph within a Django project; imported as ``cronograph.django``, which is also its name in ``INSTALLED_APPS``.

- Django's own tasks are its jobs: ``TASKS = {"default": {"BACKEND": "cronograph.django.TaskBackend"}}``.
- ``jobs.py`` of each app is imported, and its jobs are those of ``manage.py cronograph serve``.
- ``job.enqueue_sync(…)`` within ``transaction.atomic()`` is part of that transaction, where both have one database.
- ``enqueue_on_commit`` enqueues with the commit in any case.
- ``with_dashboard`` mounts API and dashboard below a path for the staff.
- ``CronographTestMixin`` is for test cases.

Everything is imported at its first use, since Django imports this package before its settings are complete.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .dashboard import staff, with_dashboard
    from .enqueueing import enqueue_on_commit
    from .tasks import TaskBackend
    from .testing import CronographTestMixin

__all__ = ["CronographTestMixin", "TaskBackend", "enqueue_on_commit", "staff", "with_dashboard"]

_HOME: Final = {
    "CronographTestMixin": ".testing",
    "TaskBackend": ".tasks",
    "enqueue_on_commit": ".enqueueing",
    "staff": ".dashboard",
    "with_dashboard": ".dashboard",
}


def __getattr__(name: str) -> object:
    """Import a name when it is asked for."""
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
