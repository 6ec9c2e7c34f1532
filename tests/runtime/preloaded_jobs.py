"""Jobs whose module is imported before child processes are forked."""

import os

from cronograph.jobs import Result, job
from cronograph.jobs.registry import Registry

JOBS, ELSE = Registry(), Registry()
imported_by = os.getpid()


@job(isolation="process", preload=True, registry=JOBS)
def preloaded() -> Result:
    return Result(value=[imported_by, os.getppid()])


@job(isolation="process", registry=ELSE)
def as_the_node_says() -> Result:
    return Result(value=[imported_by, os.getppid()])
