"""The shop with everything in one process: Django, a node that runs the jobs, and the dashboard for its staff.

uvicorn shop.asgi:application --port 9000     # sign in at /admin/, then open /ops/jobs/
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

from django.conf import settings
from django.contrib.auth import aget_user
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.asgi import get_asgi_application
from django.http import HttpRequest
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.routing import Mount

from cronograph.server import Cronograph, Visitor

from .jobs import count_stock, restock


async def who(connection: HTTPConnection) -> Visitor | None:
    """Whoever has signed in to Django and belongs to its staff."""
    request = HttpRequest()
    sessions = import_module(settings.SESSION_ENGINE)
    request.session = sessions.SessionStore(connection.cookies.get(settings.SESSION_COOKIE_NAME))
    user = await aget_user(request)
    if not (user.is_active and user.is_staff):
        return None
    return Visitor(user.get_username(), "admin" if user.is_superuser else "operator")


cron = Cronograph(
    os.environ.get("CRONOGRAPH_DATABASE_URL", "sqlite:///queue.db"),
    jobs=[restock, count_stock],
    who=who,
    public_url=os.environ.get("SHOP_URL", "http://localhost:9000"),
)


@asynccontextmanager
async def lifespan(_app: Starlette) -> AsyncIterator[None]:
    """The node begins and ends with the server; Django knows nothing of that."""
    async with cron:
        yield


application = Starlette(
    routes=[
        Mount("/ops/jobs", app=cron.asgi),
        Mount("/", app=ASGIStaticFilesHandler(get_asgi_application())),
    ],
    lifespan=lifespan,
)
