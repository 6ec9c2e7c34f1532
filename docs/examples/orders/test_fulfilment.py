"""Weeks of an order by the clock of the testing kit: no node, no waiting. Needs the tables of the shop alone."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest
from fulfilment import engine, fulfil_order
from sqlalchemy import select
from sqlalchemy.orm import Session
from tables import Base, Mail, Order

from cronograph.jobs import Registry
from cronograph.jobs.testing import Queue, drain

ALONE = Registry()
ALONE.add(fulfil_order.definition)


@pytest.fixture
def order() -> Iterator[int]:
    """A new order."""
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        made = Order(email="ada@example.org")
        session.add(made)
        session.flush()
        key = made.id
    yield key
    with Session(engine) as session, session.begin():
        session.delete(session.get_one(Order, key))


def state(order: int) -> str:
    """Where it stands."""
    with Session(engine) as session:
        return session.get_one(Order, order).state


def subjects() -> list[str]:
    """What the outbox says, in order."""
    with Session(engine) as session:
        return list(session.scalars(select(Mail.subject).order_by(Mail.id)))


def test_an_order_is_paid_approved_and_shipped_over_days(order: int) -> None:
    async def story() -> None:
        async with Queue(ALONE) as queue:
            run = await queue.enqueue(fulfil_order.name, {"order_id": order, "total": 5_000})
            began = queue.clock.now()
            # Until something but time is awaited; the time limits of the waits are days away.
            await drain(queue, until=began + timedelta(days=1))
            assert state(order) == "waiting for payment"
            address = subjects()[-1].rpartition(" ")[2]
            await queue.signal_by_url(address, {"reference": "SEPA-7"})
            await drain(queue, until=began + timedelta(days=2))
            assert state(order) == "waiting for approval"
            await queue.signal(run, "approved", {"by": "bob"})
            await drain(queue, until=began + timedelta(days=4))
            assert state(order) == "paid"
            await drain(queue)
            assert (state(order), queue.clock.now() - began) == ("shipped", timedelta(days=5))
            done = await queue.run(run)
            assert (done.run.result, done.run.failures) == ("SEPA-7", 0)
            asked = [one for one in subjects() if one.startswith("Please pay 5000 EUR")]
            assert len(asked) == 1

    asyncio.run(story())


def test_an_order_that_nobody_pays_is_cancelled_after_two_weeks(order: int) -> None:
    async def story() -> None:
        async with Queue(ALONE) as queue:
            run = await queue.enqueue(fulfil_order.name, {"order_id": order, "total": 10})
            began = queue.clock.now()
            await drain(queue)
            assert (state(order), queue.clock.now() - began) == ("cancelled", timedelta(days=14))
            assert (await queue.run(run)).run.result == "cancelled"
            assert subjects()[-1] == f"Order {order} is cancelled: no signal came for 'paid' in time"

    asyncio.run(story())


def test_who_approves_may_say_no(order: int) -> None:
    async def story() -> None:
        async with Queue(ALONE) as queue:
            run = await queue.enqueue(fulfil_order.name, {"order_id": order, "total": 5_000})
            began = queue.clock.now()
            await queue.signal(run, "paid", {"reference": "SEPA-8"})
            await drain(queue, until=began + timedelta(days=1))
            await queue.signal(run, "approved", reject="too many already")
            await drain(queue)
            assert state(order) == "cancelled"
            assert subjects()[-1] == f"Order {order} is cancelled: too many already"

    asyncio.run(story())
