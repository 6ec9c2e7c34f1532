"""The jobs of Cronograph in ``tests.bench.peers.kinds``; child processes import this module."""

from collections.abc import Callable

from cronograph.jobs import job
from cronograph.jobs.registry import Registry
from tests.bench.peers import kinds_work

THREAD, PROCESS, PRELOADED, REUSED = (Registry() for _ in range(4))
REGISTRIES = {"thread": THREAD, "process": PROCESS, "preloaded": PRELOADED, "reused": REUSED}


def declare(name: str, function: Callable[[], None]) -> None:
    """As a job of each kind."""
    job(name, registry=THREAD)(function)
    job(name, registry=PROCESS, isolation="process")(function)
    job(name, registry=PRELOADED, isolation="process", preload=True)(function)
    job(name, registry=REUSED, isolation="process", reuse=1_000_000)(function)


for _name, _function in kinds_work.WORK.items():
    declare(_name, _function)
