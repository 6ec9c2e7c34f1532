"""Jobs that tell a secret in all ways they have."""

import base64
import logging
from typing import Any
from urllib.parse import quote_plus

from cronograph.jobs import JobContext, Result, job
from cronograph.jobs.registry import Registry

JOBS = Registry()
log = logging.getLogger("tests.of.secrets")


def _tell(context: JobContext, key: str, end: str) -> Result:
    basic = base64.b64encode(f"user:{key}".encode()).decode()
    said = f"it is {key}"
    context.log.info(said, nested={"in": [key], key: 1}, context=str(context.info.args))
    log.warning("or %s", basic, extra={"form": quote_plus(key)})
    # The line is cut in the middle of the value.
    long = f"{'x' * (8 * 1024 - 5)}{key}"
    context.log.info(long)
    context.progress(1, 2, f"with {key}")
    if end == "raise":
        raise ValueError(f"cannot use {key}", key)
    if end == "not json":
        return Result(value={"key": {key}})
    return Result(value={"key": key, "basic": basic, "url": f"https://h/?k={quote_plus(key)}", key: 1})


@job("tell in a coroutine", registry=JOBS)
async def tell_in_a_coroutine(context: JobContext, key: str, end: str = "return") -> Result:
    """A coroutine."""
    await context.save_checkpoint({"key": key})
    return _tell(context, key, end)


@job("tell in a thread", registry=JOBS)
def tell_in_a_thread(context: JobContext, key: str, end: str = "return") -> Result:
    """A plain function."""
    context.save_checkpoint({"key": key})
    return _tell(context, key, end)


@job("tell in a process", registry=JOBS, isolation="process")
def tell_in_a_process(context: JobContext, key: str, end: str = "return") -> Result:
    """A child process."""
    context.save_checkpoint({"key": key})
    return _tell(context, key, end)


@job("needs a number", registry=JOBS)
async def needs_a_number(value: Any, number: int | str = 0) -> int:
    """Gets what it asks for; `number` fails when it is no number, with the value in pydantic's message."""
    return int(value) + int(number)
