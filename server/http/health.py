"""``/health/live`` and ``/health/ready``: for supervisors, load balancers and scripts."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Scope

from ..auth.pages import root_path_of
from ..process.lifecycle import Lifecycle, Phase

NO_STORE = {"Cache-Control": "no-store"}


def asks_for_health(scope: Scope) -> bool:
    """Return whether a request is for one of the two, wherever an application has mounted us."""
    path: str = scope["path"]
    return path.removeprefix(root_path_of(scope)).startswith("/health/")


def health_routes(lifecycle: Lifecycle, dispatching: Callable[[], bool]) -> list[Route]:
    """Return the two routes."""

    async def live(_request: Request) -> JSONResponse:
        """Answer 200 while the event loop turns, even if something else is wrong: a restart would not help."""
        return JSONResponse({"status": "live", "phase": lifecycle.phase}, headers=NO_STORE)

    async def ready(_request: Request) -> JSONResponse:
        """Answer 200 only when the database is migrated, a dead process' runs are recovered, and runs are taken."""
        serving = lifecycle.phase is Phase.SERVING
        is_ready = serving and dispatching()
        status = "ready" if is_ready else "not dispatching" if serving else lifecycle.phase
        return JSONResponse({"ready": is_ready, "status": status}, 200 if is_ready else 503, headers=NO_STORE)

    return [Route("/health/live", live, methods=["GET"]), Route("/health/ready", ready, methods=["GET"])]
