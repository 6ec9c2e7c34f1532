"""Who defines jobs, only enqueues, or serves pays for no more: which modules are loaded, not how long it takes."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = frozenset(
    {
        "alembic", "argon2", "cbor2", "click", "cryptography", "greenlet", "httpx", "joserfc", "jsonschema",
        "opentelemetry", "prometheus_client", "psycopg", "pygments", "rich", "sqlalchemy", "sqlalchemy.orm", "sqlite3",
        "starlette", "strawberry", "structlog", "typer", "uvicorn", "watchfiles", "webauthn", "yaml",
    }
)  # fmt: skip
OWN_MODULES = 95
"""Of ours, that `import cronograph.jobs` loads. Each takes about a millisecond; the whole should take 0.2 s at most."""
STANDARD_BUT_SLOW = frozenset(
    {
        "asyncio",
        "concurrent.futures",
        "email",
        "importlib.metadata",
        "multiprocessing",
        "socket",
        "ssl",
        "subprocess",
        "tempfile",
    }
)
"""Modules of Python itself that load dozens of others; they are imported where they are first used."""
DEFINES = """
from cronograph.jobs import JobContext, Result, RunHandle, RunSpec, job

@job(schedule="0 0 3 * * *", retries=3)
async def import_orders(ctx: JobContext, source: str = "web") -> Result: ...

import_orders.run("shop")
"""
ENQUEUES = """
from cronograph.jobs import enqueue_many_sync, enqueue_sync, enqueue
"""
SERVES = """
from cronograph.server.cli.serving import run_server
"""
ALWAYS_SERVED = frozenset(
    {
        "click", "greenlet", "pygments", "rich", "sqlalchemy", "starlette", "strawberry", "structlog",
        "typer", "uvicorn", "watchfiles",
    }
)  # fmt: skip
"""Libraries of every server, with those that structlog and uvicorn import wherever they are installed.

The other database, ways to sign in and jobs that nobody uses are no part of it.
"""


def loaded_by(program: str, folder: Path) -> frozenset[str]:
    """Those of the heavy packages that a program has loaded at its end."""
    shown = f"{program}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True, cwd=folder)
    return HEAVY.intersection(done.stdout.split())


def test_the_import_of_the_engine_takes_no_library_and_few_modules(tmp_path: Path) -> None:
    program = """
import sys, sysconfig

before = set(sys.modules)
import cronograph.jobs

loaded = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items() if name not in before}
print(*sorted(name for name in loaded if name.startswith("cronograph.")))
installed = sysconfig.get_path("purelib"), sysconfig.get_path("platlib")
others = {name: file for name, file in loaded.items() if not name.startswith("cronograph")}
print(*sorted(name for name, file in others.items() if file.startswith(installed)))
print(*sorted(loaded))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    ours, libraries, loaded = (line.split() for line in done.stdout.split("\n")[:3])
    assert 40 < len(ours) <= OWN_MODULES, ours
    assert libraries == []
    assert STANDARD_BUT_SLOW.isdisjoint(loaded)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("program", "needed"), [(DEFINES, frozenset[str]()), (ENQUEUES, {"sqlalchemy"}), (SERVES, ALWAYS_SERVED)]
)
def test_what_is_not_needed_is_not_loaded(program: str, needed: frozenset[str], tmp_path: Path) -> None:
    assert loaded_by(program, tmp_path) <= needed
