"""What job code writes by itself in tests: calls of ``logging``, and prints."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

from ..runtime.job.printing import GuardedStream, prints_belong_to_jobs


@contextmanager
def kept_prints() -> Generator[None]:
    """Let what jobs print be kept with their lines, and appear where it would have."""
    if prints_belong_to_jobs():
        yield
        return
    before = sys.stdout
    stream = GuardedStream(before)
    stream.keep()
    sys.stdout = stream
    try:
        yield
    finally:
        sys.stdout = before
