"""The order service with everything in one process: its own API, a node that runs the jobs, and the dashboard.

uvicorn all_in_one:app --port 9000     # prints the link by which the first administrator is made
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import app as orders
from fastapi import FastAPI
from fulfilment import fulfil_order

import jobs
from cronograph.server import Cronograph

PUBLIC_URL = os.environ.get("SHOP_URL", "http://localhost:9000")
"""As people write it: where they sign in, and what the cookie and the links are for."""

cron = Cronograph(
    jobs.DATABASE_URL.replace("+psycopg", ""),
    jobs=[jobs.confirm_order, jobs.send_mail, jobs.tell_support, jobs.close_old_orders, fulfil_order],
    public_url=f"{PUBLIC_URL}/ops/jobs",
)


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
    """Both begin and end with the server."""
    async with orders.lifespan(orders.app), cron:
        yield


app = FastAPI(lifespan=lifespan)
app.mount("/ops/jobs", cron.asgi)
app.mount("/", orders.app)
