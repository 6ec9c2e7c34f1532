"""The log of the process: for people on a terminal, as JSON lines for machines, and never a flood."""

import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TextIO

import structlog
from typing_extensions import override

from ...jobs.base.context import current_host
from ...jobs.runtime.job.lines import OWN_LOGGER, OwnLogger, is_own

if TYPE_CHECKING:
    from structlog.typing import Processor

LogFormat = Literal["auto", "human", "json"]

QUIET = {
    "alembic": logging.WARNING,
    "apscheduler": logging.WARNING,
    "asyncio": logging.WARNING,
    "httpcore": logging.WARNING,
    "httpx": logging.WARNING,
    "sqlalchemy": logging.WARNING,
    "uvicorn": logging.WARNING,
    "websockets": logging.WARNING,
}
"""Libraries that log every step of theirs: only their warnings are shown."""

BURST = 20
"""Lines of one kind that are written within a window."""

WINDOW = 60.0
"""Seconds after which lines of a kind are written again."""

MAX_KINDS = 1_000
"""Kinds of line that are counted; beyond it counting starts again."""


@dataclass(slots=True)
class _Count:
    since: float
    lines: int = 0


class OutsideJobs(logging.Filter):
    """Leaves out the log of jobs: it is kept with their executions, where it is bounded and can be read by run."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether ``record`` was made outside of any job."""
        return current_host.get() is None


class OfOthers(logging.Filter):
    """Leaves out the lines of our own loggers: they have a handler of their own."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether ``record`` was made by somebody else's logger."""
        return not is_own(record.name)


class _LoggerOfProcess(logging.Logger):
    """The class of loggers that are made from now on: an ``OwnLogger`` if it is ours, else as ``logging`` has it."""

    def __new__(cls, name: str, level: int = logging.NOTSET) -> logging.Logger:  # type: ignore[misc]
        kind = OwnLogger if is_own(name) else logging.getLoggerClass()
        return kind(name, level)


class FloodFilter(logging.Filter):
    """Lets ``BURST`` lines of one kind pass per ``WINDOW`` seconds; the next window begins by saying how many were cut.

    Lines are of one kind when logger, level and message before formatting are the same: a thousand refused requests
    are one kind, with any contents.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._counts: dict[tuple[str, int, str], _Count] = {}

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        now = self._clock()
        kind = (record.name, record.levelno, str(record.msg)[:200])
        count = self._counts.get(kind)
        if count is None or now - count.since >= WINDOW:
            if count is not None and count.lines > BURST:
                record.cut_lines = count.lines - BURST
            if len(self._counts) >= MAX_KINDS:
                self._counts.clear()
            count = self._counts[kind] = _Count(now)
        count.lines += 1
        return count.lines <= BURST


def configure_logging(form: LogFormat, level: str, stream: TextIO | None = None) -> None:
    """Send the log lines of this process to ``stream`` (standard error unless given).

    Our own loggers have a handler and a level of their own, and nobody disables them: jobs that configure ``logging``
    mean their own lines, and replace the handlers of the root.

    Args:
        form: ``human``, ``json``, or ``auto`` = human when ``stream`` is a terminal, else JSON.
        level: The least severe level that is written, e.g. ``info``.
    """
    target = stream or sys.stderr
    human = form == "human" or (form == "auto" and target.isatty())
    formatter = _formatter(human=human, colors=target.isatty() and "NO_COLOR" not in os.environ)
    flood = FloodFilter()
    for logger, filters in ((logging.getLogger(), [OfOthers()]), (logging.getLogger(OWN_LOGGER), [])):
        handler = logging.StreamHandler(target)
        for one in (OutsideJobs(), *filters, flood):
            handler.addFilter(one)
        handler.setFormatter(formatter)
        logger.addHandler(handler)
        logger.setLevel(level.upper())
    manager = logging.root.manager
    for name, made in manager.loggerDict.items():
        if is_own(name) and isinstance(made, logging.Logger):
            made.__class__ = OwnLogger
    manager.setLoggerClass(_LoggerOfProcess)
    for name, least in QUIET.items():
        logging.getLogger(name).setLevel(least)
    if not structlog.is_configured():
        # Modules of jobs may have configured it for their own lines.
        structlog.configure(
            processors=[
                structlog.stdlib.filter_by_level,
                *_shared(human=human),
                structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
            ],
            logger_factory=structlog.stdlib.LoggerFactory(),
            wrapper_class=structlog.stdlib.BoundLogger,
            cache_logger_on_first_use=True,
        )
    logging.captureWarnings(capture=True)


def _shared(*, human: bool) -> "list[Processor]":
    """Return the processors of every line, whether structlog or the standard library made it. People know the date."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="%H:%M:%SZ" if human else "iso", utc=True),
    ]


def _formatter(*, human: bool, colors: bool) -> logging.Formatter:
    remove = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    if human:
        # Rich's tracebacks print every local variable, secrets among them.
        plain = structlog.dev.plain_traceback
        last: list[Processor] = [
            structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain, pad_event_to=0)
        ]
    else:
        last = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    return structlog.stdlib.ProcessorFormatter(foreign_pre_chain=_shared(human=human), processors=[remove, *last])
