"""Articles, and the people who read them."""

from datetime import datetime

from django.db import models


class Article(models.Model):
    """It is a draft until it has been published."""

    headline: "models.CharField[str, str]" = models.CharField(max_length=200)
    published_at: "models.DateTimeField[datetime | None, datetime | None]" = models.DateTimeField(null=True)


class Subscriber(models.Model):
    """Somebody who gets each article by mail, once."""

    email: "models.EmailField[str, str]" = models.EmailField(unique=True)
    newest: "models.PositiveBigIntegerField[int, int]" = models.PositiveBigIntegerField(default=0)
