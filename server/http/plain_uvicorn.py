"""What the server needs of uvicorn, without its command line, which it imports with its package.

That is Click, the supervisors of its own processes, and what watches files. ``uvicorn.run`` and ``uvicorn.main`` of
callers in this process are imported at their first use.
"""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from ..process.lean_imports import replaced_modules

__all__ = ["Config", "HttpToolsProtocol", "Server", "WebSocketsSansIOProtocol"]

_COMMAND_LINE = "uvicorn.main"


class _StandIn(ModuleType):
    """Stands in the place of the module while the package is imported."""

    def __getattr__(self, name: str) -> object:
        if name == "Server":
            return import_module("uvicorn.server").Server
        if name in {"main", "run"}:
            return _later(name)
        raise AttributeError(name)


def _later(name: str) -> Callable[..., object]:
    def call(*args: object, **kwargs: object) -> object:
        called: Callable[..., object] = getattr(import_module(_COMMAND_LINE), name)
        return called(*args, **kwargs)

    return call


with replaced_modules({_COMMAND_LINE: _StandIn(_COMMAND_LINE)}):
    from uvicorn import Config, Server
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
