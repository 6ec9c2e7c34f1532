"""Execute attempts in child processes, and keep their launcher alive."""

import asyncio
import contextlib
import contextvars
import logging
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from ...actions.nodes import note_launcher_fault
from ...core.model import Isolation
from ...core.nodes import Node
from ...core.outcome import Failed, HandedBack, JobOutcome
from ...core.steps import may_have_steps
from ...store.db.database import Database
from ..base.service import Backoff
from ..job.printing import keeps_prints
from ..job.results import failure, stopped
from ..process.children import LINGER, ChildPool, PooledChild
from ..process.spawner import Child, LauncherError, Spawner, places
from ..process.wire import (
    NOT_FORKED,
    Answer,
    Begin,
    BeginWait,
    ChangeRun,
    Ended,
    Enqueue,
    FindStep,
    FrameError,
    KeepStep,
    Leave,
    Lines,
    MakeSignalUrl,
    Progress,
    Request,
    Save,
    Stop,
    Terminate,
)
from .attempt import NO_PLACE, Attempt, Running
from .capacity import Capacity

log = logging.getLogger(__name__)


_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0
"""Seconds until it is tried again to have child processes; doubled as long as there are none."""


class LauncherSupervisor:
    """The launcher of a node's child processes, started again as often as it is lost.

    Args:
        database: Where the node says why it has none.
        capacity: Takes runs of process jobs only while a child process is available at once: their timeouts start with
            the claim.
        size: How many children there may be.
        look_again: Called when there are some.
        lease: Seconds that a child may be stopped, as a node may.

    Attributes:
        children: Hands them out.
    """

    def __init__(
        self,
        database: Database,
        node: Node,
        capacity: Capacity,
        spawner: Spawner,
        size: int,
        look_again: Callable[[], None],
        *,
        lease: float,
    ) -> None:
        self._database = database
        self._node = node
        self._capacity = capacity
        self._spawner = spawner
        self._look_again = look_again
        self._lease = lease
        self._trouble: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._noted: str | None = None
        self.children = ChildPool(spawner, size, on_shortage=self._run_short)
        capacity.close(Isolation.PROCESS)

    async def supervise(self) -> None:
        """Keep child processes at hand, for ever."""
        backoff, loop = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE), asyncio.get_running_loop()
        while True:
            self._trouble = loop.create_future()
            fault, began = await self._fault(), loop.time()
            await self._note(fault)
            if fault is None:
                self._capacity.open(Isolation.PROCESS)
                self._look_again()
                fault = await self._until_trouble()
                self._capacity.close(Isolation.PROCESS)
                await self._note(fault)
            if loop.time() - began > _LONGEST_PAUSE:
                backoff.succeed()
            await asyncio.sleep(backoff.fail())

    async def _fault(self) -> str | None:
        """Start the launcher; return why no child process can be had."""
        try:
            await self._spawner.ready()
            self.children.check_supply()
        except LauncherError as error:
            log.error("%s; runs that need one wait", error)
            return str(error)
        return None

    async def _until_trouble(self) -> str | None:
        """Wait until no child process can be had; return why. None: the launcher is gone, and nothing is known yet."""
        trouble, lost = self._trouble, asyncio.ensure_future(self._spawner.lost())
        either: list[asyncio.Future[Any]] = [trouble, lost]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost.cancel()
        return trouble.result() if trouble.done() else None

    def _run_short(self, reason: str) -> None:
        if not self._trouble.done():
            log.error("%s; runs that need one wait", reason)
            # What is handed back for it must not come at once again.
            self._capacity.close(Isolation.PROCESS)
            self._trouble.set_result(reason)

    async def _note(self, fault: str | None) -> None:
        if fault != self._noted:
            await self._database.write(note_launcher_fault, self._node, fault)
            self._noted = fault

    def kill_all(self) -> None:
        """Kill every child process, those at work and those that wait for a run of their job."""
        self._spawner.kill_all()

    async def kill_stopped(self) -> None:
        """Kill the child processes that somebody has stopped and not continued within the lease of a node."""
        self._spawner.kill_stopped(self._lease)

    async def close(self) -> None:
        """End the children and their launcher."""
        await self.children.close()
        await self._spawner.stop()


_LEVELS_FOR: Final = 0.1
TERMINATE_GRACE = 2.0
"""Seconds between "leave now" (an exception in the handler) and SIGKILL."""


class ProcessBody:
    """A child process."""

    def __init__(self, attempt: Attempt, children: ChildPool) -> None:
        self._attempt = attempt
        self._children = children
        self._child: Child | None = None
        self._is_fit = False
        self._storing: set[asyncio.Task[None]] = set()

    def begin(self, context: contextvars.Context) -> Running:
        """Begin in a task of its own."""
        name = f"cronograph-run-{self._attempt.started.run.id}"
        return asyncio.get_running_loop().create_task(self.run(), name=name, context=context)

    async def run(self) -> JobOutcome:
        """Wait for a turn and a child; give it the job, carry out its requests, and wait for its end."""
        attempt = self._attempt
        if not await self._children.enter():
            return NO_PLACE[Isolation.PROCESS]
        try:
            # One that should stop before it has begun does not begin.
            if attempt.signal.reason is not None:
                return NO_PLACE[Isolation.PROCESS]
            found = await self._children.take(attempt.definition.name, attempt.definition.reuse)
            return await self._run_in(found)
        except LauncherError as error:
            # What the node is short of is nothing that its runs are to blame for.
            return HandedBack(str(error))
        finally:
            self._children.leave()

    async def _run_in(self, found: PooledChild) -> JobOutcome:
        child, definition = found.child, self._attempt.definition
        self._child = child
        outcome: JobOutcome | None = None
        timeout = 0.0
        try:
            self._begin(child)
            outcome = await self._converse(child)
            timeout = LINGER
        except FrameError as error:
            outcome = Failed("ProtocolError", f"a message of the child process cannot be read: {error}")
        finally:
            may_stay = outcome is not None and self._is_fit and self._attempt.signal.reason is None
            if may_stay and definition.reuse is not None and found.may_go_on(definition.reuse):
                self._children.keep(definition.name, found)
                status = None
            else:
                child.send(Leave())
                status = await child.close(timeout)
        return self._crashed(status) if outcome is None else outcome

    def _begin(self, child: Child) -> None:
        attempt = self._attempt
        child.send(begin_message(attempt, path=places(sys.path), secrets=dict(attempt.secrets)))
        attempt.host.subscribe_stops(lambda reason: child.send(Stop(reason=reason)))

    async def _converse(self, child: Child) -> JobOutcome | None:
        """Do as the child says until it has said how its job ended; None if it never does."""
        while (message := await child.receive()) is not None:
            match message:
                case Lines(lines=lines, dropped=dropped):
                    self._attempt.host.log_all(lines, dropped=dropped)
                    # A flood of lines must not keep the event loop from everybody else.
                    await asyncio.sleep(0)
                case Progress(done=done, total=total, message=text):
                    self._attempt.host.progress(done, total, text)
                case Save() | Enqueue() | ChangeRun() | FindStep():
                    await self._answer(child, message, self._work(message))
                case KeepStep() | BeginWait() | MakeSignalUrl():
                    # Steps of one job may end side by side: none waits until another one is stored.
                    self._aside(self._answer(child, message, self._work(message)))
                case Ended():
                    return self._ended(message)
        return None

    def _ended(self, message: Ended) -> JobOutcome:
        self._attempt.host.enqueue_at_end(message.at_end)
        self._is_fit = message.again
        if message.took_store:
            self._children.note_store()
        return message.value()

    def _work(self, asked: Request) -> Awaitable[Any]:
        host = self._attempt.host
        match asked:
            case Save(value=value):
                return host.keep_checkpoint(value)
            case Enqueue():
                return self._enqueue(asked)
            case ChangeRun(target=target, change=change):
                return host.change(target, change)
            case FindStep(label=label):
                return host.steps.find_step(label)
            case KeepStep(end=end):
                return host.steps.keep_step(end)
            case BeginWait(wait=wait):
                return host.steps.begin_wait(wait)
            case MakeSignalUrl(label=label, page=page):
                return host.steps.signal_url(label, page)

    async def _enqueue(self, asked: Enqueue) -> list[int]:
        host, flow = self._attempt.host, asked.flow
        return await host.enqueue(asked.runs) if flow is None else [await host.enqueue_flow(flow)]

    async def _answer(self, child: Child, asked: Request, work: Awaitable[Any]) -> None:
        """Carry out a request, and tell the child its result."""
        try:
            found = await work
        except Exception as error:
            if attempted := _attempted(asked):
                log.exception("run %d could not %s", self._attempt.started.run.id, attempted)
            why = str(error) if isinstance(asked, KeepStep) else f"{type(error).__name__}: {error}"
            child.send(Answer(number=asked.number, error=why))
            return
        match asked:
            case Enqueue():
                child.send(Answer(number=asked.number, ids=found))
            case ChangeRun():
                child.send(Answer(number=asked.number, state=found))
            case FindStep() | BeginWait():
                child.send(Answer(number=asked.number, step=found))
            case MakeSignalUrl():
                child.send(Answer(number=asked.number, url=found))
            case Save() | KeepStep():
                child.send(Answer(number=asked.number))

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._storing.add(task)
        task.add_done_callback(self._storing.discard)

    def _crashed(self, status: int | None) -> JobOutcome:
        if status == NOT_FORKED:
            self._children.report_shortage(reason := "no child process can be forked: the system is short of processes")
            return HandedBack(reason)
        stopped = self._child is not None and self._child.was_stopped
        what = "was stopped (SIGSTOP) for a whole lease and was killed" if stopped else described(status)
        return failure("ChildProcessError", f"child process {what}", None, self._attempt.signal.reason)

    async def stop_hard(self, running: Running) -> JobOutcome:
        """Ask the child to leave at once, then kill it with all that it started."""
        child = self._child
        if child is None:
            running.cancel()
        else:
            child.send(Terminate())
            await asyncio.wait([running], timeout=TERMINATE_GRACE)
            child.kill()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        return stopped(self._attempt.signal.reason)


def begin_message(attempt: Attempt, *, path: list[str], secrets: dict[str, str]) -> Begin:
    """Make the message by which another process begins an attempt."""
    handler = attempt.definition.handler
    return Begin(
        module=handler.__module__,
        qualname=handler.__qualname__,
        info=attempt.info(),
        remaining=attempt.signal.remaining(),
        checkpoint=attempt.host.checkpoint(),
        path=path,
        log_levels=_log_levels.now(),
        secrets=secrets,
        modules=[] if attempt.middleware is None else attempt.middleware.modules,
        keeps_prints=keeps_prints(),
        memory=None if attempt.definition.reuse is None else attempt.definition.reuse.memory,
        may_have_steps=may_have_steps(attempt.started.run.attempt, attempt.started.run.trigger),
        grace=attempt.host.grace,
        trace=None if attempt.span is None else dict(attempt.span.context),
    )


def _attempted(asked: Request) -> str | None:
    """Describe a failed request for the log; None: the job gets it as an error, and somebody else logs the fault."""
    match asked:
        case Save():
            return "keep a checkpoint"
        case Enqueue(runs=runs, flow=flow):
            return f"enqueue {len(runs)} runs" if flow is None else f"enqueue flow '{flow.name}'"
        case FindStep():
            return "read its steps"
        case _:
            return None


def described(status: int | None) -> str:
    """Describe the end of a child that did not announce it."""
    if status is None:
        return "was lost: its launcher ended"
    if status >= 0:
        return f"exited with status {status} before its job ended"
    try:
        name = f" ({signal.Signals(-status).name})"
    except ValueError:
        name = ""
    hint = "; this node did not kill it, perhaps the system ran out of memory" if status == -signal.SIGKILL else ""
    return f"exited with signal {-status}{name}{hint}"


class LogLevels:
    """The levels of this process' loggers that have one of their own, by name; "" is the root.

    They are looked up a few times a second at most, since there are hundreds.
    """

    def __init__(self) -> None:
        self._levels: dict[str, int] = {}
        self._until = 0.0

    def now(self) -> dict[str, int]:
        """Return the levels of this moment, or of a tenth of a second ago."""
        if time.monotonic() >= self._until:
            root = logging.getLogger()
            # What is no logger, but only holds the place of one, has no level.
            named = {name: getattr(one, "level", 0) for name, one in list(root.manager.loggerDict.items())}
            self._levels = {"": root.getEffectiveLevel()} | {name: level for name, level in named.items() if level}
            self._until = time.monotonic() + _LEVELS_FOR
        return self._levels


_log_levels: Final = LogLevels()
