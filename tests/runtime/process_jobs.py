"""Jobs for child processes: a fresh process must be able to import them."""

import asyncio
import ctypes
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

from cronograph.jobs import Cancel, JobContext, PermanentFailure, Result, Snooze, job
from cronograph.jobs.registry import Isolation, Registry

log = logging.getLogger(__name__)
JOBS = Registry()


@job("p_add", isolation="process", registry=JOBS)
def add(a: int, b: int = 1) -> Result:
    return Result(records_processed=a + b, value={"pid": os.getpid(), "sid": os.getsid(0)})


@job("p_add_async", isolation="process", registry=JOBS)
async def add_async(ctx: JobContext, a: int, b: int = 1) -> Result:
    await asyncio.sleep(0)
    return Result(records_processed=a + b, value={"pid": os.getpid(), "attempt": ctx.attempt})
