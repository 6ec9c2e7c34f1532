"""The jobs of the shop: `cronograph serve --jobs shop.jobs`.

Django is set up before the models are imported, and its connections are closed around each attempt.
"""

import os

import django

from cronograph.jobs import JobContext, job
from cronograph.jobs.integrations import django as for_django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
django.setup()
for_django.close_connections()

from .models import Product


@job(unique_key="restock-{product_id}")
def restock(ctx: JobContext, product_id: int, amount: int) -> int:
    """Puts so many of a product into stock; one run for each product waits at a time."""
    changed = Product.objects.filter(pk=product_id).update(stock=amount)
    ctx.log.info("restocked", product=product_id, amount=amount)
    return changed


@job(schedule="0 30 5 * * MON-FRI", timezone="Europe/Berlin")
def count_stock() -> int:
    """Every working day: how many products are sold out."""
    return Product.objects.filter(stock=0).count()
