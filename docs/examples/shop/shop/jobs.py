"""The jobs of the shop: `python manage.py cronograph serve`.

Cronograph's app imports this module when Django is ready, and closes Django's connections around each attempt.
"""

from cronograph.jobs import JobContext, job

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
