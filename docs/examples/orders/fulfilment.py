"""An order that is paid, approved and shipped over days: one function, which holds no slot while it waits."""

import os
from datetime import timedelta

from pydantic import BaseModel
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from tables import Mail, Order

from cronograph.jobs import JobContext, Rejected, Result, job

engine = create_engine(os.environ["SHOP_DATABASE_URL"])
APPROVED_ABOVE = 1_000
"""What costs more is looked at by a person."""


class Approval(BaseModel):
    """What a person decides."""

    by: str
    note: str = ""


class Payment(BaseModel):
    """What the bank's webhook brings along."""

    reference: str


def set_state(order_id: int, state: str) -> str:
    """Where the order stands; returns whom to tell."""
    with Session(engine) as session, session.begin():
        order = session.get_one(Order, order_id)
        order.state = state
        return order.email


def write(to: str, subject: str) -> None:
    """Write a mail into the outbox; yours would speak to a mail server."""
    with Session(engine) as session, session.begin():
        session.add(Mail(to=to, subject=subject))


@job(max_duration="60d")
async def fulfil_order(ctx: JobContext, order_id: int, total: int) -> Result:
    """Asks for the money, waits for it, has large orders approved, and ships three days later."""
    email = await ctx.step("begin", set_state, order_id, "waiting for payment")

    async def ask_for_money() -> None:
        # Made inside the step: a later attempt finds the step done, and makes no second address.
        write(email, f"Please pay {total} EUR: {await ctx.signal_url('paid')}")

    await ctx.step("ask for money", ask_for_money)
    try:
        payment = await ctx.wait_for("paid", Payment, timeout=timedelta(days=14), on_timeout="reject")
        if total > APPROVED_ABOVE:
            await ctx.step("look at it", set_state, order_id, "waiting for approval")
            await ctx.wait_for("approved", Approval, timeout=timedelta(days=7), on_timeout="reject")
    except Rejected as error:
        await ctx.step("give up", set_state, order_id, "cancelled")
        await ctx.step("say so", write, email, f"Order {order_id} is cancelled: {error}")
        return Result(value="cancelled")
    await ctx.step("pack", set_state, order_id, "paid")
    await ctx.sleep("may be withdrawn", timedelta(days=3))
    await ctx.step("ship", set_state, order_id, "shipped")
    await ctx.step("tell", write, email, f"Order {order_id} is on its way")
    return Result(value=payment.reference)
