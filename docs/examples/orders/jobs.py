"""The jobs of the order service, and what the node gives them."""

import os
from collections.abc import AsyncIterator

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from tables import Mail, Order

from cronograph.jobs import GIVEN, Failure, JobContext, Result, job, resource

DATABASE_URL = os.environ["SHOP_DATABASE_URL"]
"""As SQLAlchemy takes it: postgresql+psycopg://…"""


@resource
async def engine() -> AsyncIterator[AsyncEngine]:
    """One for the node, shared by all attempts."""
    opened = create_async_engine(DATABASE_URL)
    yield opened
    await opened.dispose()


@resource(scope="attempt")
async def session(engine: AsyncEngine) -> AsyncIterator[AsyncSession]:
    """One for each attempt, committed when its job returns: a commit that fails is a failed attempt."""
    async with AsyncSession(engine) as opened, opened.begin():
        yield opened


@job(retries=3, retry_delay=10)
async def send_mail(to: str, subject: str, session: AsyncSession = GIVEN) -> None:
    """Writes a mail into the outbox; yours would speak to a mail server."""
    session.add(Mail(to=to, subject=subject))


@job
async def tell_support(failure: Failure, session: AsyncSession = GIVEN) -> None:
    """Hears of every order that could not be confirmed."""
    session.add(Mail(to="support@example.org", subject=f"run {failure.run_id} failed: {failure.error}"))


@job(retries=1, retry_delay=0.1, on_failure=tell_support)
async def confirm_order(ctx: JobContext, order_id: int, session: AsyncSession = GIVEN) -> Result:
    """Confirms an order; the mail is enqueued if, and only if, this attempt ends well."""
    order = await session.get(Order, order_id)
    if order is None or not order.email:
        raise LookupError(f"order {order_id} has nobody to write to")
    order.state = "confirmed"
    ctx.enqueue_at_end(send_mail, to=order.email, subject=f"Order {order_id} is confirmed")
    return Result(records_processed=1, value={"order": order_id})


@job(schedule="0 0 4 * * *")
async def close_old_orders(session: AsyncSession = GIVEN) -> int:
    """Every night: what was confirmed is closed."""
    ids = (await session.scalars(select(Order.id).where(Order.state == "confirmed"))).all()
    await session.execute(update(Order).where(Order.id.in_(ids)).values(state="closed"))
    return len(ids)
