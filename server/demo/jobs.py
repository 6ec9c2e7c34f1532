"""The example jobs of ``cronograph demo``: an imaginary shop, whose work succeeds, fails, retries, waits and reports.

An ordinary job module, imported like any other (``--jobs cronograph.server.demo.jobs``); nothing here is known to the
server. Read it as an example of how to write jobs.
"""

import asyncio
import logging
import random
import time
from datetime import UTC, datetime

from ...jobs import JobContext, PermanentFailure, Result, Snooze, job

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
    """The number of orders is what the log shows as records processed."""
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
