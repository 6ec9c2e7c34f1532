"""Jobs whose module is imported before child processes are forked."""

import importlib
import os
import sys
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler

from cronograph.jobs import Result, job
from cronograph.jobs.registry import Registry

JOBS, ELSE, AGAIN, STORE = (Registry() for _ in range(4))
imported_by = os.getpid()


@job(isolation="process", preload=True, registry=JOBS)
def preloaded() -> Result:
    return Result(value=[imported_by, os.getppid()])


@job(isolation="process", registry=ELSE)
def as_the_node_says() -> Result:
    return Result(value=[imported_by, os.getppid()])


class Noted:
    """An annotation that knows which process has made a model of it."""

    made_by = 0

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> Any:
        cls.made_by = os.getpid()
        return handler(source)


def defined_again(word: Annotated[str, Noted] = "") -> Result:
    return Result(value=[Noted.made_by, os.getppid()])


# A new process finds the function alone, and makes a job of it once more.
job(isolation="process", preload=True, registry=AGAIN)(defined_again)


@job(isolation="process", registry=STORE)
def takes_store() -> Result:
    had_it = "sqlalchemy" in sys.modules
    importlib.import_module("sqlalchemy")
    return Result(value=had_it)
