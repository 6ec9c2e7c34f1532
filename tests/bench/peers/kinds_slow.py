"""A job of ``tests.bench.peers.kinds`` whose module takes 200 ms of a processor to import, as large libraries do."""

import time

from tests.bench.peers.kinds_work import nothing

_UNTIL = time.thread_time() + 0.2
while time.thread_time() < _UNTIL:
    pass


def import200() -> None:
    """As little as can be."""
    nothing()
