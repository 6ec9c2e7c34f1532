"""Live as a child process: find the handler, run it, report its end to the node.

The child is forked from the launcher (``launcher``), which has imported this module, and nothing of the user's unless
he asks for it (``preload``).
The handler runs in the main thread; a second thread listens to the node.
"""

import _thread
import asyncio
import contextvars
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
from datetime import UTC, datetime
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from ...base.context import JobContext, RunInfo, StopReason, current_host
from ...base.hiding import IN_USE, NOTHING_HIDDEN, Redactor
from ...core.base.errors import InvalidInput
from ...core.base.lazy import LazyModule
from ...core.flows import StartedBy
from ...core.model import Isolation
from ...core.outcome import INVALID_ARGUMENTS, Failed, JobOutcome, Succeeded
from ...core.run_spec import RunSpec
from ...own.forks import EndingForks
from ...registry import JobDefinition, define
from ...registry.hooks import Hooks, Resource, Scope
from ...registry.policies import NO_POLICIES
from ..job.lines import keep_lines_of_jobs
from ..job.middleware import KeptResources, middleware_of
from ..job.ownership import StopSignal, noting_tasks
from ..job.printing import guard_output
from ..job.results import from_exception, from_return, suspension_of
from .finding import find_job, found_of_store
from .host import ChildHost
from .kernel import PR_SET_CHILD_SUBREAPER, children_of_this_process, control_process, memory_of_this_process
from .wire import (
    HEADER,
    Answer,
    Begin,
    Connection,
    Ended,
    Leave,
    NodeGoneError,
    Sender,
    Stop,
    Terminate,
    ToChild,
    frame,
    to_child,
)

if TYPE_CHECKING:
    from ...integrations import opentelemetry
else:
    opentelemetry = LazyModule("cronograph.jobs.integrations.opentelemetry")


_TIMES: Final = 20
"""Repetitions: the interpreter rewrites code that has run a few times, which a child would do in a copy."""


class CutOffError(Exception):
    """A job that was to suspend itself was asked to stop while other tasks of it were at work."""


class ChildProcess:
    """The life of a child: it runs one job, or one after the other while the node wants it to."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._begins: SimpleQueue[Begin | None] = SimpleQueue()
        self._kept = KeptResources()
        self._redactor = NOTHING_HIDDEN
        self._run: ChildRun | None = None
        self._own: set[int] = set()
        self._is_ending = False
        self._had_of_store = found_of_store()

    def live(self, begin: Begin) -> None:
        """Begin with this job; returns when there is nothing more to run."""
        # A thread of ``threading`` is waited for until it runs, and writes to a hundred pages of the launcher's.
        _thread.start_new_thread(self._listen, ())
        following: Begin | None = begin
        while following is not None:
            following = self._begins.get() if self._again(following) else None
        self._is_ending = True
        self._kept.close()

    def _again(self, begin: Begin) -> bool:
        """Run a job; return whether this process can run another one."""
        # What one run was given is hidden in all that follow: its threads may still say it.
        self._redactor = self._redactor.also(begin.secrets)
        if begin.memory is not None:
            control_process(PR_SET_CHILD_SUBREAPER, 1)
        run = self._run = ChildRun(self._connection, begin, self._redactor, self._kept)
        outcome = contextvars.copy_context().run(run.run)
        again = begin.memory is not None and isinstance(outcome, Succeeded) and self._is_fit(begin.memory, run)
        self._is_ending = not again
        took_store = found_of_store() != self._had_of_store
        self._connection.send(Ended.of(outcome, run.at_end, again=again, took_store=took_store))
        return again

    def _is_fit(self, memory: int, run: "ChildRun") -> bool:
        """Return whether the run left neither too much memory nor a process behind, except for kept resources."""
        self._own |= run.own_processes
        return memory_of_this_process(memory) <= memory and children_of_this_process() <= self._own

    def _listen(self) -> None:
        """Follow the messages of the node until it is gone; a job without its node must not go on."""
        try:
            while True:
                match message := to_child(self._connection.receive()):
                    case Begin():
                        self._begins.put(message)
                    case Leave():
                        self._is_ending = True
                        self._begins.put(None)
                    case _:
                        if self._run is not None:
                            self._run.on_message(message)
        except NodeGoneError:
            if not self._is_ending:
                os.killpg(0, signal.SIGKILL)


class ChildRun:
    """One run in this process.

    Args:
        redactor: Cuts secrets out of its output.
        kept: The objects that this process keeps for the runs that follow.
        sigterm: The reason to stop that a SIGTERM gives the job; None: it means nothing unless the node has said so.

    Attributes:
        own_processes: The processes that the kept resources had started when the job itself began.
    """

    def __init__(
        self,
        connection: Sender,
        begin: Begin,
        redactor: Redactor,
        kept: KeptResources,
        *,
        sigterm: StopReason | None = None,
    ) -> None:
        self._sigterm = sigterm
        self._begin = begin
        self._kept = kept
        self._signal = StopSignal(begin.remaining)
        self._redactor = redactor
        self._host = ChildHost(
            connection,
            self._signal,
            begin.checkpoint,
            self._redactor,
            maker=StartedBy(begin.info.run_id, begin.info.task_id),
            may_have_steps=begin.may_have_steps,
            grace=begin.grace,
        )
        self._terminating = False
        self._interrupt: Callable[[], None] = _signal_main_thread
        self.own_processes: set[int] = set()

    @property
    def at_end(self) -> list[RunSpec]:
        """The runs to enqueue if the attempt ends well."""
        return self._host.at_end

    def run(self) -> JobOutcome:
        """Run the job to its end, and send all that it said."""
        signal.signal(signal.SIGTERM, self._on_sigterm)
        set_log_levels(self._begin.log_levels)
        # As the node does: warnings of the job are lines of it.
        logging.captureWarnings(capture=True)
        keep_lines_of_jobs(self._host)
        current_host.set(self._host)
        IN_USE.add(self._begin.secrets)
        guard_output(keeps_prints=self._begin.keeps_prints)
        outcome = self._outcome()
        # Threads of the job may be in the middle of a step.
        self._host.branches.wait_for_steps()
        unsaved = self._host.await_checkpoints()
        if unsaved is not None and isinstance(outcome, Succeeded):
            outcome = Failed(type(unsaved).__name__, str(unsaved))
        self._host.requests.wait_all()
        self._host.end()
        return outcome

    def _outcome(self) -> JobOutcome:
        policies = NO_POLICIES
        try:
            sys.path[:] = self._begin.path
            if self._begin.trace is not None:
                opentelemetry.enter_context(self._begin.trace)
            for module in self._begin.modules:
                importlib.import_module(module)
            definition, hooks = find_job(self._begin.info.job_name, self._begin.module, self._begin.qualname)
            # What the modules configure at their import does not hold on the node either: it has been configured since.
            set_log_levels(self._begin.log_levels)
            policies = definition.policies
            context = JobContext(self._begin.info, self._host)
            try:
                arguments = definition.bind(self._begin.info.args, context)
            except InvalidInput as error:
                return Failed(INVALID_ARGUMENTS, self._redactor.text(error.message), permanent=True)
            return from_return(self._returned(definition, hooks, context, arguments), self._redactor)
        except BaseException as error:
            return from_exception(error, self._signal.reason, policies, self._redactor)

    def _returned(
        self, definition: JobDefinition, hooks: Hooks, context: JobContext, arguments: Mapping[str, Any]
    ) -> object:
        needed: list[Resource] = []
        if self._begin.memory is not None:
            needed = [one for one in hooks.needed(definition.given.values()) if one.scope is Scope.NODE]
        if inspect.iscoroutinefunction(definition.handler):
            if self._begin.memory is None:
                return asyncio.run(self._in_loop(definition, hooks, context, arguments))
            return self._kept.run(needed, lambda: self._in_loop(definition, hooks, context, arguments))
        self._kept.open(needed)
        middleware = middleware_of(definition, hooks, self._kept.opened)
        self._note_processes()
        with EndingForks():
            if middleware is None:
                return definition.handler(**arguments)
            return middleware.call_without_loop(context, arguments)

    async def _in_loop(
        self, definition: JobDefinition, hooks: Hooks, context: JobContext, arguments: Mapping[str, Any]
    ) -> object:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            self._interrupt = functools.partial(_cancel_from_outside, loop, task)
        middleware = middleware_of(definition, hooks, self._kept.opened)
        self._note_processes()
        self._host.main, suspends = task, False
        with noting_tasks(self._host.branches):
            try:
                with EndingForks():
                    if middleware is None:
                        return await definition.handler(**arguments)
                    return await middleware.in_loop(context, arguments)
            except BaseException as error:
                suspends = suspension_of(error) is not None
                raise
            finally:
                self._host.main = None
                await self._end_branches(let_go_on=suspends)

    async def _end_branches(self, *, let_go_on: bool) -> None:
        was_cut = await self._host.branches.end(
            let_go_on=let_go_on, is_abandoned=lambda: False, on_late=self._host.note_late
        )
        if let_go_on and was_cut and self._signal.reason is not None:
            raise CutOffError("its work besides its waits was cut off")

    def _note_processes(self) -> None:
        if self._begin.memory is not None:
            self.own_processes = children_of_this_process()

    def on_message(self, message: ToChild) -> None:
        """Follow a message of the node to this run."""
        match message:
            case Stop(reason=reason):
                self._signal.ask(reason)
            case Answer():
                self._host.requests.on_answer(message)
            case Terminate():
                self._terminating = True
                self._interrupt()
            case Begin() | Leave():
                """Said to the process."""

    def _on_sigterm(self, _number: int, _frame: FrameType | None) -> None:
        """Leave, if the node said so: a service manager that signals every process must not cut off a draining job."""
        if self._terminating:
            raise SystemExit(128 + signal.SIGTERM)
        if self._sigterm is not None:
            self._signal.ask(self._sigterm)


def _cancel_from_outside(loop: asyncio.AbstractEventLoop, task: asyncio.Task[object]) -> None:
    loop.call_soon_threadsafe(task.cancel)


def _signal_main_thread() -> None:
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGTERM)


def set_log_levels(levels: Mapping[str, int]) -> None:
    """Give the loggers of this process the levels of the node."""
    for name, level in levels.items():
        logger = logging.getLogger(name)
        # To set it makes all loggers forget which levels they let pass.
        if logger.level != level:
            logger.setLevel(level)


def run_child(peer: socket.socket) -> None:
    """Live the whole life of a child process."""
    connection = Connection(peer)
    begin = to_child(connection.receive())
    if not isinstance(begin, Begin):
        raise NodeGoneError(f"the node must begin with 'begin', got '{begin.kind}'")
    ChildProcess(connection).live(begin)


def warm_up() -> None:
    """Define a job, bind its arguments, read an order, write an outcome: nothing of it stays but the loaded modules."""
    definition = define("warm_up", _do_nothing, isolation=Isolation.PROCESS)
    order = frame(Begin(
        module=__name__, qualname=_do_nothing.__qualname__, info=_info(), remaining=1.0, checkpoint=None, path=[],
        log_levels={},
    ))[HEADER.size :]  # fmt: skip
    for _ in range(_TIMES):
        definition.bind({}, None)
        to_child(order)
        frame(Ended.of(Succeeded()))


def _info() -> RunInfo:
    return RunInfo(
        run_id=1, execution_id=1, job_name="warm_up", task_id=None, task_name=None, attempt=1, is_last_attempt=True,
        scheduled_for=None, deadline=datetime.now(UTC), submitter=None, args={}, carried=None,
    )  # fmt: skip


def _do_nothing() -> None:
    """Serve as a job."""
