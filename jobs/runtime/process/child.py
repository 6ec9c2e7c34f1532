"""What happens in the child process of one run: find the handler, run it, tell the node how it ended.

The child is forked from the launcher (``launcher``), which has imported this module and nothing of the user's.
The handler runs in the main thread; a second thread listens to the node.
"""

import asyncio
import functools
import importlib
import inspect
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from types import FrameType, ModuleType
from typing import Any

from ...context import JobContext, current_host
from ...core.errors import ConfigurationError, InvalidInput
from ...core.model import Isolation
from ...core.outcome import INVALID_ARGUMENTS, Failed, JobOutcome, Succeeded
from ...declared import Job
from ...registry import Handler, JobDefinition, default_registry, define
from ...registry.hooks import Hooks
from ...registry.policies import NO_POLICIES
from ..job.hiding import Hiding
from ..job.in_use import IN_USE
from ..job.lines import JobLogHandler
from ..job.printing import guard_output, let_prints_belong_to_jobs
from ..job.results import from_exception, from_return
from ..job.stopping import StopSignal
from ..job.surroundings import surroundings_of
from .host import ChildHost
from .outbox import Connection, NodeGoneError
from .wire import Begin, Ended, Enqueued, Saved, Stop, Terminate, to_child


class JobNotFoundError(Exception):
    """The handler is not where it was when the node started."""


class ChildRun:
    """One run in this process.

    Args:
        connection: To the node.
        begin: What to run.
    """

    def __init__(self, connection: Connection, begin: Begin) -> None:
        self._connection = connection
        self._begin = begin
        self._signal = StopSignal(begin.remaining)
        self._hiding = Hiding(begin.secrets)
        self._host = ChildHost(connection, self._signal, begin.checkpoint, self._hiding)
        self._terminating = False
        self._interrupt: Callable[[], None] = _signal_main_thread
        self._over = False

    def run(self) -> None:
        """Run the job to its end and report it."""
        threading.Thread(target=self._listen, name="cronograph-node", daemon=True).start()
        signal.signal(signal.SIGTERM, self._on_sigterm)
        set_up_logging(self._begin.log_levels, self._host)
        current_host.set(self._host)
        IN_USE.add(self._begin.secrets)
        guard_output()
        if self._begin.keeps_prints:
            let_prints_belong_to_jobs()
        outcome = self._outcome()
        unsaved = self._host.await_checkpoints()
        if unsaved is not None and isinstance(outcome, Succeeded):
            outcome = Failed("CheckpointRefusedError", f"the checkpoint could not be kept: {unsaved}")
        self._host.flush()
        self._over = True
        self._connection.send(Ended.of(outcome, self._host.at_end))

    def _outcome(self) -> JobOutcome:
        policies = NO_POLICIES
        try:
            sys.path[:] = self._begin.path
            for module in self._begin.modules:
                importlib.import_module(module)
            definition, hooks = find_job(self._begin.info.job_name, self._begin.module, self._begin.qualname)
            policies = definition.policies
            context = JobContext(self._begin.info, self._host)
            try:
                arguments = definition.bind(self._begin.info.args, context)
            except InvalidInput as error:
                return Failed(INVALID_ARGUMENTS, self._hiding.text(error.message), permanent=True)
            return from_return(self._returned(definition, hooks, context, arguments), self._hiding)
        except BaseException as error:
            return from_exception(error, self._signal.reason, policies, self._hiding)

    def _returned(
        self, definition: JobDefinition, hooks: Hooks, context: JobContext, arguments: Mapping[str, Any]
    ) -> object:
        surroundings = surroundings_of(definition, hooks, {})
        if surroundings is None:
            return self._call(definition.handler, arguments)
        if inspect.iscoroutinefunction(definition.handler):
            return self._call(surroundings.in_loop, {"context": context, "arguments": arguments})
        return surroundings.call_without_loop(context, arguments)

    def _call(self, handler: Handler, arguments: Mapping[str, Any]) -> object:
        if not inspect.iscoroutinefunction(handler):
            return handler(**arguments)
        return asyncio.run(self._in_loop(handler, arguments))

    async def _in_loop(self, handler: Handler, arguments: Mapping[str, Any]) -> object:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            self._interrupt = functools.partial(_cancel_from_outside, loop, task)
        return await handler(**arguments)

    def _listen(self) -> None:
        """Do what the node says until it is gone; a job without its node must not go on."""
        try:
            while True:
                message = to_child(self._connection.receive())
                match message:
                    case Stop(reason=reason):
                        self._signal.ask(reason)
                    case Saved():
                        self._host.on_saved(message)
                    case Enqueued():
                        self._host.on_enqueued(message)
                    case Terminate():
                        self._terminating = True
                        self._interrupt()
                    case Begin():
                        logging.getLogger(__name__).warning("one process runs one job; a second one is left out")
        except NodeGoneError:
            if not self._over:
                os.killpg(0, signal.SIGKILL)

    def _on_sigterm(self, _number: int, _frame: FrameType | None) -> None:
        """Leave, if the node said so: a service manager that signals every process must not cut off a draining job."""
        if self._terminating:
            raise SystemExit(128 + signal.SIGTERM)


def _cancel_from_outside(loop: asyncio.AbstractEventLoop, task: asyncio.Task[object]) -> None:
    loop.call_soon_threadsafe(task.cancel)


def _signal_main_thread() -> None:
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGTERM)


def set_up_logging(levels: Mapping[str, int], host: ChildHost) -> None:
    """Send every call of ``logging`` in this process to the run, at the levels of the node."""
    logging.getLogger().addHandler(JobLogHandler(host))
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def find_job(name: str, module_name: str, qualname: str) -> tuple[JobDefinition, Hooks]:
    """Import the module of a job and find the job in it, with the hooks of its registry.

    Raises:
        JobNotFoundError: it is not there.
        Exception: whatever importing the module raises.
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
    return define(name, handler, isolation=Isolation.PROCESS), Hooks()


def looked_up(module: ModuleType | None, qualname: str) -> Any:  # noqa: ANN401 - whatever is there
    """What a module has under a dotted name; None if there is nothing."""
    found: Any = module
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def check_findable(definition: JobDefinition) -> None:
    """Let a process job pass that a new process will find.

    Raises:
        ConfigurationError: it would find something else, or nothing.
    """
    module_name, qualname = _place(definition.handler)
    is_registered = default_registry().get(definition.name) is definition
    found = looked_up(sys.modules.get(module_name), qualname)
    if is_registered or found is definition.handler or (isinstance(found, Job) and found.definition is definition):
        return
    raise ConfigurationError(
        f"job '{definition.name}' at {definition.where}: isolation 'process' needs a function that a new process can "
        f"find, but '{qualname}' of module {module_name} is something else now; register it in the default registry, "
        "or put '@job' outermost"
    )


def _place(handler: Callable[..., Any]) -> tuple[str, str]:
    return getattr(handler, "__module__", ""), getattr(handler, "__qualname__", "")


def run_child(peer: socket.socket) -> None:
    """The whole life of a child process."""
    connection = Connection(peer)
    begin = to_child(connection.receive())
    if not isinstance(begin, Begin):
        raise NodeGoneError(f"the node must begin with 'begin', got '{begin.kind}'")
    ChildRun(connection, begin).run()
