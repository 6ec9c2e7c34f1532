"""The example jobs of ``cronograph demo``: an imaginary shop, whose work succeeds, fails, retries, waits and reports.

An ordinary job module, imported like any other (``--jobs cronograph.server.demo.jobs``); nothing here is known to the
server. Read it as an example of how to write jobs.
"""

import asyncio
import logging
import random
import time
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel

from ...jobs import JobContext, PermanentFailure, Rate, Rejected, Result, Snooze, job

log = logging.getLogger(__name__)

CITIES = ("Lisbon", "Oslo", "Vienna", "Porto", "Ghent")
COLOURS = ("teal", "ochre", "plum")

chance = random.Random()  # noqa: S311 - decides what goes wrong in a demonstration


class ShopError(Exception):
    """Something that an outside system does wrong now and then."""


@job("check_website", description="Asks the shop's front page whether it is well: short and frequent")
async def check_website(ctx: JobContext) -> None:
    """Returns nothing: it has no records to count."""
    milliseconds = chance.randint(20, 400)
    await asyncio.sleep(milliseconds / 1000)
    ctx.log.info("front page answered 200", milliseconds=milliseconds)


@job("import_orders", description="Fetches new orders; the supplier's API fails now and then and the run is retried")
async def import_orders(ctx: JobContext, source: str = "web") -> Result:
    """The log shows the number of orders as records processed."""
    orders = chance.randint(3, 60)
    ctx.log.info("new orders", orders=orders, source=source)
    for done in range(orders):
        await asyncio.sleep(0.05)
        ctx.progress(done + 1, orders, f"order {done + 1} from {chance.choice(CITIES)}")
        if chance.random() < 0.006:
            raise ShopError(f"the supplier answered 503 at order {done + 1} of {orders}")
    return Result(records_processed=orders, value={"source": source, "orders": orders})


@job("send_newsletter", description="Writes to every subscriber of a list, with a progress bar")
async def send_newsletter(ctx: JobContext, subject: str, recipients: int = 40) -> int:
    """Stops cleanly when it is asked to, and says how far it came."""
    for sent in range(recipients):
        if ctx.should_stop:
            ctx.log.warning("asked to stop", sent=sent, recipients=recipients)
            return sent
        await asyncio.sleep(0.2)
        ctx.progress(sent + 1, recipients, f"'{subject}' to reader {sent + 1}")
    return recipients


@job("resize_photos", description="Works in a thread, because it does not give the event loop a chance")
def resize_photos(ctx: JobContext, album: str = "spring") -> int:
    """A plain function; calls of ``logging`` inside it land in the execution's log too."""
    photos = chance.randint(4, 12)
    for number in range(1, photos + 1):
        time.sleep(0.25)
        log.info("photo %d of album '%s' is now %s", number, album, chance.choice(COLOURS))
        ctx.progress(number, photos)
    return photos


@job(
    "forecast_demand",
    isolation="process",
    description="Computes in a child process, the only kind that can be killed hard",
)
def forecast_demand(ctx: JobContext, products: int = 6) -> Result:
    """Keeps a processor busy for a few seconds without slowing anything else down."""
    estimates: list[float] = []
    for product in range(products):
        until = time.monotonic() + 0.4
        draws: list[float] = []
        while time.monotonic() < until:
            draws.append(chance.gauss(100, 15))
        estimates.append(round(sum(draws) / len(draws), 2))
        ctx.log.info("estimated", product=product, draws=len(draws))
        ctx.progress(product + 1, products)
    return Result(records_processed=products, value=estimates)


@job("call_webhook", description="Notifies a partner about a delivery; the partner is often out of order")
async def call_webhook(ctx: JobContext, partner: str = "parcel-service") -> None:
    """Half of its calls fail; one partner will never answer, so trying again is pointless."""
    await asyncio.sleep(0.3)
    if partner == "closed-down":
        raise PermanentFailure(f"{partner} has closed down: no such host")
    if chance.random() < 0.5:
        raise ShopError(f"{partner} did not answer within 0.3 s (attempt {ctx.attempt})")
    ctx.log.info("the partner knows", partner=partner)


@job("sync_inventory", description="Counts the warehouse; comes back later while somebody else counts it")
async def sync_inventory(ctx: JobContext) -> int:
    """``Snooze`` is no failure: the run waits and is attempted again."""
    if ctx.attempt == 1 and chance.random() < 0.3:
        raise Snooze(5)
    await asyncio.sleep(1)
    return chance.randint(100, 900)


@job("monthly_report", description="Takes its time and goes on from its last checkpoint")
async def monthly_report(ctx: JobContext, months: int = 12) -> Result:
    """The checkpoint belongs to the task: the next occurrence continues with the next month."""
    first = (ctx.checkpoint or 0) % months
    for step in range(4):
        await asyncio.sleep(1.5)
        month = (first + step) % months + 1
        ctx.log.info("summed up", month=month)
        await ctx.save_checkpoint(month)
        ctx.progress(step + 1, 4, f"month {month}")
    return Result(records_processed=4, value={"until": datetime.now(UTC).isoformat()})


@job("grand_opening", description="Happens once, soon after the demo began")
async def grand_opening(ctx: JobContext) -> None:
    """The job of a one-time task."""
    ctx.log.info("the shop is open")


CUSTOMERS = ("ada", "grace", "linus", "margaret")


class Approval(BaseModel):
    """Answer of the person who lets a large order pass."""

    by: str
    limit: int = 1000


async def reserve(order: int) -> str:
    """Take the goods from the shelf; return the number of the box."""
    await asyncio.sleep(0.4)
    return f"box {order % 17}"


async def charge(order: int) -> dict[str, object]:
    """Take the money; the bank is sometimes slow to believe it."""
    await asyncio.sleep(0.6)
    if chance.random() < 0.3:
        raise ShopError(f"the bank did not answer for order {order}")
    return {"order": order, "paid": True}


async def ship(order: int) -> str:
    """Hand the parcel over; return its number."""
    await asyncio.sleep(0.3)
    return f"parcel {order}"


@job("fulfil_order", labels_from=["customer"], description="Takes steps: a retry does not repeat finished ones")
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
    description="At most 12 a minute, one at a time for each customer; messages older than five minutes are not sent",
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
