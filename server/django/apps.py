"""The app, which reads the settings when Django starts."""

from importlib import import_module

from django.apps import AppConfig
from django.conf import settings
from django.utils.module_loading import autodiscover_modules
from typing_extensions import override

from ...jobs.integrations.django import close_connections
from ...jobs.registry import default_registry
from .choices import choices
from .enqueueing import DjangoQueue


class CronographConfig(AppConfig):
    """``cronograph.django`` in ``INSTALLED_APPS``."""

    name = "cronograph.server.django"
    label = "cronograph"
    verbose_name = "Cronograph"

    @override
    def ready(self) -> None:
        """Say where jobs are enqueued, close Django's connections around attempts, and import ``jobs.py`` of all apps.

        Raises:
            ImproperlyConfigured: the settings in ``CRONOGRAPH`` cannot work.
        """
        chosen = choices()
        registry = default_registry()
        registry.queue = DjangoQueue(registry)
        close_connections()
        if chosen.autodiscover:
            autodiscover_modules("jobs")
        if getattr(settings, "TASKS", None):
            tasks = import_module(".tasks", __package__)
            if tasks.keeps_tasks() and chosen.autodiscover:
                autodiscover_modules("tasks")
