"""What the shop keeps."""

from django.db import models


class Product(models.Model):
    """Something that is sold."""

    name: "models.CharField[str, str]" = models.CharField(max_length=100)
    stock: "models.IntegerField[int, int]" = models.IntegerField(default=0)
    ordered: "models.BooleanField[bool, bool]" = models.BooleanField(default=False)
