"""A shop's till, as somebody writes it who only reads the docs: each order is charged once."""

from datetime import datetime

from cronograph.jobs import JobContext, job


@job(unique_key=("order_id",))
async def charge(order_id: int, currency: str = "EUR") -> int:
    """Charges the card of an order."""
    return order_id if currency else 0


@job(unique_key="receipt-{order_id}-{lang}")
def print_receipt(ctx: JobContext, order_id: int, lang: str = "de") -> None:
    """Prints the receipt of an order."""
    ctx.log.info("printed", order=order_id, lang=lang)


@job(unique_key="stocktaking")
async def count_stock() -> None:
    """Counts everything."""


@job(unique_key=("day",))
async def report(day: datetime) -> None:
    """Reports a day."""


def parcel_of(parcel_id: str) -> str | None:
    return parcel_id or None


@job(unique_key=parcel_of)
async def ship(parcel_id: str, express: bool = False) -> None:
    """Ships a parcel."""


@job(unique_key=("order_id",))
async def notes_failure(order_id: int = 0) -> None:
    """Notes something."""
