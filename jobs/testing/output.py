"""What job code writes by itself in tests: calls of ``logging``, and prints."""

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager

from ..base.context import current_host
from ..runtime.job.host import LocalHost
from ..runtime.job.lines import JobLogHandler
from ..runtime.job.printing import GuardedStream, prints_belong_to_jobs


@contextmanager
def ordinary_logging(host: LocalHost) -> Generator[None]:
    """Let calls of ``logging`` made by the job of ``host`` reach it, at the levels that the test has set."""
    root = logging.getLogger()
    handler = JobLogHandler()
    handler.addFilter(lambda _record: current_host.get() is host)
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


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
