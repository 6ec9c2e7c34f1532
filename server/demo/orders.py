"""Further example jobs of ``cronograph demo``: orders that take steps, sleep, wait for people and for other runs.

Like ``jobs``, an ordinary module of jobs.
"""

import asyncio
from datetime import timedelta

from pydantic import BaseModel

from ...jobs import JobContext, Rate, Rejected, Result, job
from .jobs import ShopError, chance

CUSTOMERS = ("ada", "grace", "linus", "margaret")


class Approval(BaseModel):
    """What a person says who lets a large order pass."""

    by: str
    limit: int = 1000


async def reserve(order: int) -> str:
    """Take the goods from the shelf; the number of the box."""
    await asyncio.sleep(0.4)
    return f"box {order % 17}"


async def charge(order: int) -> dict[str, object]:
    """Take the money; the bank is sometimes slow to believe it."""
    await asyncio.sleep(0.6)
    if chance.random() < 0.3:
        raise ShopError(f"the bank did not answer for order {order}")
    return {"order": order, "paid": True}


async def ship(order: int) -> str:
    """Hand the parcel over; its number."""
    await asyncio.sleep(0.3)
    return f"parcel {order}"


@job("fulfil_order", labels_from=["customer"], description="Takes steps: what is done is not done again by a retry")
async def fulfil_order(ctx: JobContext, order: int = 1, customer: str = "ada") -> Result:
    """Sleeps between two of its steps, and holds no slot meanwhile."""
    box = await ctx.step("reserve", reserve, order)
    paid = await ctx.step("charge", charge, order, retries=1)
    await ctx.sleep("let the label dry", timedelta(seconds=15))
    await ctx.step("ship", ship, order)
    return Result(records_processed=1, value={"box": box, **paid, "customer": customer})


@job("approve_order", labels_from=["customer"], description="A large order waits until a person decides: see the inbox")
async def approve_order(ctx: JobContext, order: int = 1, customer: str = "ada") -> Result:
    """Nobody decides within half an hour: it is rejected."""
    await ctx.step("reserve", reserve, order)
    try:
        approval = await ctx.wait_for("approved", Approval, timeout=timedelta(minutes=30), on_timeout="reject")
    except Rejected as error:
        ctx.log.info("the goods go back to the shelf", reason=str(error))
        return Result(value="rejected")
    await ctx.step("ship", ship, order)
    return Result(records_processed=1, value={"approved by": approval.by, "customer": customer})


@job("new_orders", description="Enqueues a run for each new order, with the customer as label")
async def new_orders(ctx: JobContext, orders: int = 3) -> Result:
    """A run enqueues others."""
    first = ctx.run_id * 10
    for number in range(first, first + orders):
        customer = chance.choice(CUSTOMERS)
        await ctx.enqueue(fulfil_order.options(group="orders"), order=number, customer=customer)
        await ctx.enqueue(write_to_customer.options(group="mail"), customer=customer, order=number)
    return Result(records_processed=orders)


@job(
    "write_to_customer",
    rate=Rate(12, per="1m", burst=3),
    max_concurrent=1,
    concurrency_key="{customer}",
    labels_from=["customer"],
    ttl=timedelta(minutes=5),
    description="At most 12 a minute, one at a time for each customer; what is older than five minutes is not sent",
)
async def write_to_customer(ctx: JobContext, customer: str = "ada", order: int = 1) -> None:
    """The provider of mails allows no more."""
    await asyncio.sleep(0.5)
    ctx.log.info("written", customer=customer, order=order)


@job("count_shop", description="One of the runs that a report waits for")
async def count_shop(ctx: JobContext, city: str) -> Result:
    """The turnover of one shop."""
    await asyncio.sleep(chance.uniform(0.5, 3))
    turnover = chance.randint(200, 900)
    ctx.log.info("counted", city=city, turnover=turnover)
    return Result(records_processed=1, value=turnover)


@job("close_books", description="Waits for the runs of all shops, which are a flow, and adds them up")
async def close_books(ctx: JobContext) -> Result:
    """Holds no slot while it waits."""
    cities = ("Lisbon", "Oslo", "Vienna", "Porto", "Ghent")
    turnovers: list[int] = await ctx.run_all([count_shop.run(city) for city in cities])
    return Result(records_processed=len(cities), value=dict(zip(cities, turnovers, strict=True)))
