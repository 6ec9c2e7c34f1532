"""Let Django find the app."""

from cronograph.server.django.apps import CronographConfig

__all__ = ["CronographConfig"]
