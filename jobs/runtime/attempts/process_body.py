"""A job in a child process: the only kind that can be killed."""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Sequence

from ...core.model import Json
from ...core.outcome import Failed, JobOutcome
from ...core.run_spec import RunSpec
from ..job.printing import prints_belong_to_jobs
from ..job.results import failure, stopped
from ..process.spawner import Child, LauncherError, Spawner
from ..process.wire import Begin, Ended, Enqueue, Enqueued, FrameError, Lines, Progress, Save, Saved, Stop, Terminate
from .attempt import Attempt
from .bodies import Running

log = logging.getLogger(__name__)

TERMINATE_GRACE = 2.0
"""Seconds between "leave now" (an exception in the handler) and SIGKILL."""
LINGER = 5.0
"""Seconds that a child may take to exit after its job ended, for its ``atexit`` functions; then it is killed."""


class ProcessBody:
    """A child process."""

    def __init__(self, attempt: Attempt, spawner: Spawner) -> None:
        self._attempt = attempt
        self._spawner = spawner
        self._child: Child | None = None

    async def run(self) -> JobOutcome:
        """Start the child, give it the job, do what it asks for, and wait for its end."""
        try:
            child = self._child = await self._spawner.spawn()
        except LauncherError as error:
            return Failed("LauncherError", str(error))
        outcome: JobOutcome | None = None
        within = 0.0
        try:
            self._begin(child)
            outcome = await self._converse(child)
            within = LINGER
        except FrameError as error:
            outcome = Failed("ProtocolError", f"what came from the child process cannot be read: {error}")
        finally:
            status = await child.close(within)
        return outcome or self._crashed(status)

    def _begin(self, child: Child) -> None:
        attempt = self._attempt
        handler = attempt.definition.handler
        begin = Begin(
            module=handler.__module__,
            qualname=handler.__qualname__,
            info=attempt.info(),
            remaining=attempt.signal.remaining(),
            checkpoint=attempt.host.checkpoint(),
            path=_places(sys.path),
            log_levels=log_levels(),
            secrets=dict(attempt.secrets),
            modules=[] if attempt.surroundings is None else attempt.surroundings.modules,
            keeps_prints=prints_belong_to_jobs(),
        )
        child.send(begin)
        attempt.host.subscribe_stops(lambda reason: child.send(Stop(reason=reason)))

    async def _converse(self, child: Child) -> JobOutcome | None:
        """Do what the child says until it has said how its job ended; None if it never does."""
        while (message := await child.receive()) is not None:
            match message:
                case Lines(lines=lines, dropped=dropped):
                    self._attempt.host.log_all(lines, dropped=dropped)
                    # A flood of lines must not keep the event loop from everybody else.
                    await asyncio.sleep(0)
                case Progress(done=done, total=total, message=text):
                    self._attempt.host.progress(done, total, text)
                case Save(number=number, value=value):
                    child.send(Saved(number=number, error=await self._save(value)))
                case Enqueue(number=number, runs=runs):
                    child.send(await self._enqueue(number, runs))
                case Ended():
                    self._attempt.host.enqueue_at_end(message.at_end)
                    return message.value()
        return None

    async def _enqueue(self, number: int, runs: Sequence[RunSpec]) -> Enqueued:
        try:
            return Enqueued(number=number, ids=await self._attempt.host.enqueue(runs))
        except Exception as error:
            log.exception("run %d could not enqueue %d runs", self._attempt.started.run.id, len(runs))
            return Enqueued(number=number, ids=[], error=f"{type(error).__name__}: {error}")

    async def _save(self, value: Json) -> str | None:
        try:
            await self._attempt.host.keep_checkpoint(value)
        except Exception as error:
            log.exception("a checkpoint of run %d could not be kept", self._attempt.started.run.id)
            return f"{type(error).__name__}: {error}"
        return None

    def _crashed(self, status: int | None) -> JobOutcome:
        return failure("ChildProcessError", f"child process {described(status)}", None, self._attempt.signal.reason)

    async def stop_hard(self, running: Running) -> JobOutcome:
        """Tell the child to leave at once, then kill it with all that it started."""
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


def _places(path: Sequence[object]) -> list[str]:
    """Where modules are looked for: as the import system does, without what is no text, e.g. a ``Path``."""
    return [place for place in path if isinstance(place, str)]


def described(status: int | None) -> str:
    """How a child ended that did not say so itself, in words."""
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


def log_levels() -> dict[str, int]:
    """The levels of this process' loggers that have one of their own, by name; "" is the root."""
    root = logging.getLogger()
    named = {name: one for name, one in root.manager.loggerDict.items() if isinstance(one, logging.Logger)}
    return {"": root.level} | {name: one.level for name, one in named.items() if one.level}
