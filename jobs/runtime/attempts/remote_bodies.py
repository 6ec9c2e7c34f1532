"""Execute attempts at engines: their state on a node while their code is elsewhere."""

import asyncio
import contextlib
import contextvars
from typing import Any, Final

from pydantic import TypeAdapter

from ...core.base.resources import resources_of
from ...core.outcome import JobOutcome
from ...core.remote import LET_GO, RemoteAttempt
from ...core.waits import Wait
from ...queue.remote import AcceptedEnd
from ..job.results import stopped
from ..live.writers import LogWriter
from ..process.wire import Ended
from ..remote.held import Held
from ..remote.supervisor import RemoteSupervisor
from .attempt import Attempt, Running
from .child_bodies import begin_message

_WAIT: Final = TypeAdapter(Wait)


class RemoteBody:
    """An attempt at an engine.

    Args:
        attempt: The attempt that runs there.
        supervisor: Looks after it.
        logs: Count the lines that its code has written.
        known: Its row, where it was submitted before; None: it is to be submitted.
    """

    def __init__(
        self, attempt: Attempt, supervisor: RemoteSupervisor, logs: LogWriter, known: RemoteAttempt | None = None
    ) -> None:
        self._attempt = attempt
        self._supervisor = supervisor
        self._logs = logs
        self._known = known
        self._held: Held | None = None
        self._saying: set[asyncio.Task[None]] = set()

    def begin(self, context: contextvars.Context) -> Running:
        """Submit it in a task of its own."""
        name = f"cronograph-run-{self._attempt.started.run.id}"
        return asyncio.get_running_loop().create_task(self.run(), name=name, context=context)

    async def run(self) -> JobOutcome:
        """Submit it, unless that was done, and wait for its end."""
        attempt, definition = self._attempt, self._attempt.definition
        executor = self._known.executor if self._known is not None else definition.executor or ""
        held = self._held = self._supervisor.hold(attempt.started, executor, attempt.host.ask_to_stop)
        try:
            if self._known is not None:
                self._supervisor.found(held, self._known)
            else:
                message = begin_message(attempt, path=[], secrets={}).model_dump(mode="json")
                # The secrets come when it begins; what its engine keeps, and the database, has their names alone.
                message["info"]["args"] = attempt.started.run.args
                needs = resources_of(attempt.started.run.carried).over(definition.resources)
                refused = await self._supervisor.submit(held, message, needs)
                if refused is not None:
                    return refused
            attempt.host.subscribe_stops(lambda reason: self._aside(self._supervisor.note_stop(held, reason)))
            return await self._end(await held.ended)
        finally:
            self._supervisor.leave(held)

    def _aside(self, saying: Any) -> None:  # noqa: ANN401 - a coroutine
        task = asyncio.ensure_future(saying)
        self._saying.add(task)
        task.add_done_callback(self._saying.discard)

    async def _end(self, end: AcceptedEnd | None) -> JobOutcome:
        if end is None:
            return LET_GO
        host, message = self._attempt.host, Ended.model_validate(end.message)
        host.latest_progress = end.progress
        # The lines that its code has written are stored; what this node says of it comes after them.
        self._logs.write(self._attempt.started.execution_id, (), dropped=end.log_lines)
        host.enqueue_at_end(message.at_end)
        for label in end.notes.get("asked", ()):
            await host.steps.find_step(label)
        for wait in end.notes.get("waits", {}).values():
            await host.steps.begin_wait(_WAIT.validate_python(wait))
        return message.value()

    async def stop_hard(self, running: Running) -> JobOutcome:
        """End it here and at its engine; if it has ended by itself meanwhile, that counts."""
        if self._held is None or self._held.place is None:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
            return stopped(self._attempt.signal.reason)
        await self._supervisor.stop_hard(self._held, stopped(self._attempt.signal.reason))
        return await running
