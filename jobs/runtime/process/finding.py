"""Jobs are found again in a new process: by their module, and by their name or that of their function."""

import importlib
import sys
from collections.abc import Callable, Container, Iterable
from functools import cache
from types import ModuleType
from typing import Any, Final

from ...core.base.errors import ConfigurationError
from ...core.model import Isolation
from ...declared import Job
from ...registry import JobDefinition, default_registry, define
from ...registry.hooks import Hooks
from ..job.middleware import middleware_of

STORE: Final = "cronograph.jobs.queue.flows.new_flows"
"""The module by which a child judges its enqueues. It brings SQLAlchemy, a third of a launcher's memory."""


class JobNotFoundError(Exception):
    """The handler is not where it was when the node started."""


def found_of_store() -> tuple[bool, bool]:
    """Return which optional imports this process has: a launcher gets them only if its children need them."""
    return "sqlalchemy" in sys.modules, STORE in sys.modules


def find_job(name: str, module_name: str, qualname: str) -> tuple[JobDefinition, Hooks]:
    """Import the module of a job and find the job in it, with the hooks of its registry.

    Raises:
        JobNotFoundError: it is not there.
        Exception: any error from importing the module.
    """
    module = importlib.import_module(module_name)
    registered = default_registry().get(name)
    if registered is not None and _place(registered.handler) == (module_name, qualname):
        return registered, default_registry().hooks
    # Registered in a registry of its own, which cannot be found by name: its function can.
    handler = looked_up(module, qualname)
    if isinstance(handler, Job):
        return handler.definition, handler.registry.hooks
    if not callable(handler):
        raise JobNotFoundError(f"job '{name}': module {module_name} has no function '{qualname}' in a new process")
    return _defined_again(name, handler), Hooks()


@cache
def _defined_again(name: str, handler: Callable[..., Any]) -> JobDefinition:
    """Define the job again from its function; making the model of its arguments takes longer than most of a fork."""
    return define(name, handler, isolation=Isolation.PROCESS)


def looked_up(module: ModuleType | None, qualname: str) -> Any:  # noqa: ANN401 - anything that is there
    """Return the object that a module has under a dotted name; None if there is none."""
    found: Any = module
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def check_findable(definition: JobDefinition) -> None:
    """Check that a new process will find a process job.

    Raises:
        ConfigurationError: it would find something else, or nothing.
    """
    module_name, qualname = _place(definition.handler)
    kind = definition.executor or definition.isolation.value
    if module_name == "__main__":
        raise ConfigurationError(
            f"job '{definition.name}' at {definition.where}: isolation '{kind}' needs a function that a new process "
            "can import, but it is defined in the script that was started; define it at the top level of a module of "
            "its own"
        )
    is_registered = default_registry().get(definition.name) is definition
    found = looked_up(sys.modules.get(module_name), qualname)
    if is_registered or found is definition.handler or (isinstance(found, Job) and found.definition is definition):
        return
    raise ConfigurationError(
        f"job '{definition.name}' at {definition.where}: isolation '{kind}' needs a function that a new process can "
        f"find, but '{qualname}' of module {module_name} is something else now; register it in the default registry, "
        "or put '@job' outermost"
    )


def preloaded(jobs: Iterable[JobDefinition], hooks: Hooks, *, unless_set: bool) -> list[str]:
    """Return the modules that are to be imported before child processes are forked.

    Args:
        jobs: Those in child processes.
        hooks: Hooks declared in addition to them.
        unless_set: Whether it holds for jobs that do not say.
    """
    found: dict[str, None] = {}
    for one in jobs:
        if unless_set if one.preload is None else one.preload:
            around = middleware_of(one, hooks, {})
            found |= dict.fromkeys([*([] if around is None else around.modules), _place(one.handler)[0]])
    return list(found)


def findable(jobs: Iterable[JobDefinition], modules: Container[str]) -> list[tuple[str, str, str]]:
    """Return the arguments of ``find_job`` by which a new process finds the jobs that are in these modules."""
    places = [(one.name, *_place(one.handler)) for one in jobs]
    return [place for place in places if place[1] in modules]


def _place(handler: Callable[..., Any]) -> tuple[str, str]:
    return getattr(handler, "__module__", ""), getattr(handler, "__qualname__", "")
