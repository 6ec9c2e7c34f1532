"""Jobs that write more lines than anybody keeps."""

import asyncio
import logging

from cronograph.jobs import JobContext
from cronograph.jobs.registry import Registry, define

log = logging.getLogger(__name__)


def flood(ctx: JobContext, lines: int) -> int:
    """Write numbered lines as fast as possible."""
    for number in range(1, lines + 1):
        ctx.log.info(f"line {number}", number=number)  # noqa: G004 - the text is what is counted
    return lines


async def flood_async(ctx: JobContext, lines: int) -> int:
    """The same on the event loop, which it lets work now and then."""
    for number in range(1, lines + 1):
        ctx.log.info(f"line {number}", number=number)  # noqa: G004 - the text is what is counted
        if number % 100 == 0:
            await asyncio.sleep(0)
    return lines


def flood_logging(lines: int) -> int:
    """The same by ordinary logging."""
    for number in range(1, lines + 1):
        log.warning("line %d", number)
    return lines


async def small() -> None:
    """A job that does nothing."""


def flooding() -> Registry:
    """One job for each way to write, and a small one beside them."""
    registry = Registry()
    registry.add(define("loop", flood_async))
    registry.add(define("thread", flood))
    registry.add(define("process", flood, isolation="process"))
    registry.add(define("process by logging", flood_logging, isolation="process"))
    registry.add(define("thread by logging", flood_logging))
    registry.add(define("small", small))
    return registry
