"""``python -m cronograph`` and the command ``cronograph``."""

import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import FrameType
from typing import Final

_LIBRARIES: Final = (
    "typer", "alembic", "cryptography", "httpx", "jsonschema", "starlette", "strawberry", "structlog", "uvicorn",
)  # fmt: skip
"""Some of the libraries of the extra ``server``: where all are found, it is taken for installed."""
_USAGE: Final = 2
_SERVERS: Final = ("serve", "worker", "demo")
"""Commands that handle signals, also while their libraries are imported: SIGHUP means "read the files again"."""
_AT_ONCE: Final[Mapping[int, Callable[[int, FrameType | None], object]]] = {
    signal.SIGINT: lambda _number, _frame: os._exit(0),
    signal.SIGTERM: lambda _number, _frame: os._exit(0),
    signal.SIGHUP: lambda _number, _frame: None,
}
"""Handlers until a server listens; nothing has begun yet. ``SystemExit``, raised in a finalizer, would be lost."""


_YOUNG: Final = 20_000
"""So many new containers begin a collection (Python: 700): modules make many, and none of them is garbage."""


def main() -> None:
    """Run the command line; without the libraries of the server, say in one line how to get them."""
    gc.set_threshold(_YOUNG)
    if sys.argv[1:2] and sys.argv[1] in _SERVERS:
        for number, handler in _AT_ONCE.items():
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, handler)
    missing = next((name for name in _LIBRARIES if find_spec(name) is None), None)
    if missing is None:
        import_module("cronograph.server.cli").main()
        return
    sentence = (
        f"cronograph: the commands need the server's libraries, and {missing} is not installed: "
        "pip install 'cronograph[server]'"
    )
    if "--json" in sys.argv:
        sys.stdout.write(json.dumps({"ok": False, "code": "USAGE", "errors": [sentence], "warnings": []}) + "\n")
    else:
        sys.stderr.write(f"error: {sentence}\n")
    sys.exit(_USAGE)


if __name__ == "__main__":
    main()
