"""Where Django looks for the app."""

from cronograph.server.django.apps import CronographConfig

__all__ = ["CronographConfig"]
