"""API and dashboard below a path of a Django project, for its staff."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any, TypeAlias

from django.conf import settings
from django.contrib.auth import aget_user
from django.http import HttpRequest
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.routing import Mount

from ..embedding import Cronograph, Visitor
from .choices import choices
from .command_line import job_modules

Asked: TypeAlias = Callable[[HTTPConnection], Awaitable[Visitor | None] | Visitor | None]


async def staff(connection: HTTPConnection) -> Visitor | None:
    """Return the member of Django's staff that has signed in: superusers are administrators, others operators."""
    request: Any = HttpRequest()
    sessions = import_module(settings.SESSION_ENGINE)
    request.session = sessions.SessionStore(connection.cookies.get(settings.SESSION_COOKIE_NAME))
    user: Any = await aget_user(request)  # of a model that the project may have replaced
    if not (user.is_active and user.is_staff):
        return None
    return Visitor(user.get_username(), "admin" if user.is_superuser else "operator")


def with_dashboard(
    application: Callable[..., Awaitable[None]],
    path: str = "/ops/jobs",
    *,
    who: Asked = staff,
    public_url: str | None = None,
    **more: Any,  # noqa: ANN401 - each has a type of its own, which is checked
) -> Starlette:
    """Django, a node that runs the jobs, and the dashboard, in one process.

    Args:
        application: The application from ``get_asgi_application()``.
        path: Where API and dashboard are.
        who: Returns who sent a request; the staff of Django unless given.
        public_url: The address of the project, as people open it.
        more: Settings of the server, before those of ``CRONOGRAPH["SETTINGS"]``.

    Raises:
        ImproperlyConfigured: the settings in ``CRONOGRAPH`` cannot work.
        ConfigurationError: a setting of the server cannot work.
    """
    chosen = choices()
    values = {**(chosen.settings or {}), **more}
    cron = Cronograph(chosen.url, jobs=job_modules(chosen), who=who, public_url=public_url, **values)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        async with cron:
            yield

    return Starlette(routes=[Mount(path, app=cron.asgi), Mount("/", app=application)], lifespan=lifespan)
