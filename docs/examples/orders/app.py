"""The web application: it takes orders, and enqueues their confirmation in the same transaction.

uvicorn app:app                                   # serves the API
cronograph serve --jobs jobs,fulfilment --database-url …     # runs the jobs
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException
from fulfilment import fulfil_order
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from tables import Base, Order

from jobs import DATABASE_URL, confirm_order

engine: AsyncEngine = create_async_engine(DATABASE_URL)


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
    """Make the tables of this application; Cronograph's are made by `cronograph migrate`."""
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.create_all)
    yield
    await engine.dispose()


app = FastAPI(lifespan=lifespan)


async def transaction() -> AsyncIterator[AsyncSession]:
    """A transaction for each request."""
    async with AsyncSession(engine) as session, session.begin():
        yield session


Session = Annotated[AsyncSession, Depends(transaction, scope="function")]


class NewOrder(BaseModel):
    """What is ordered."""

    email: str


@app.post("/orders", status_code=202)
async def order(new: NewOrder, session: Session) -> dict[str, int]:
    """The run exists if, and only if, the order does."""
    made = Order(email=new.email)
    session.add(made)
    await session.flush()
    handle = await confirm_order.enqueue(session, made.id)
    return {"order": made.id, "run": handle.run_id}


@app.post("/orders/{order_id}/fulfilment", status_code=202)
async def fulfil(order_id: int, total: int, session: Session) -> dict[str, int]:
    """Begin what takes days: the order is paid, approved and shipped."""
    if await session.get(Order, order_id) is None:
        raise HTTPException(404)
    handle = await fulfil_order.options(unique_key=f"order-{order_id}").enqueue(session, order_id, total)
    return {"run": handle.run_id}


@app.get("/orders/{order_id}")
async def show(order_id: int, session: Session) -> dict[str, str]:
    """Where an order stands."""
    found = await session.get(Order, order_id)
    if found is None:
        raise HTTPException(404)
    return {"state": found.state}
