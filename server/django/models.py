"""The model that the admin asks for; the tables are Cronograph's own."""

from django.db import models


class Run(models.Model):
    """The entry "Runs" in the admin; nothing is read or written by it."""

    class Meta:  # noqa: D106 - Django's own form
        app_label = "cronograph"
        managed = False
        default_permissions = ("view",)
        verbose_name_plural = "runs"
