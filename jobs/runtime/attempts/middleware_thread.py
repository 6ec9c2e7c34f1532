"""A thread whose job has hooks or resources: what needs an event loop goes around the thread, the rest inside it."""

import asyncio
import contextvars
from typing import Any

from typing_extensions import override

from ...context import JobContext, current_host
from ...core.outcome import JobOutcome
from ..job.middleware import Middleware
from .attempt import Attempt
from .bodies import Running, ThreadBody
from .threads import ThreadPool


class MiddlewareThread(ThreadBody):
    """A plain function in a thread, within its middleware.

    Args:
        attempt: What it runs.
        arguments: Of the handler.
        middleware: Of its job.
        context: Of the attempt.
        threads: The threads of the node.
    """

    def __init__(
        self,
        attempt: Attempt,
        arguments: dict[str, Any],
        middleware: Middleware,
        context: JobContext,
        threads: ThreadPool[JobOutcome],
    ) -> None:
        super().__init__(attempt, arguments, threads)
        self._middleware = middleware
        self._context = context
        self._raised: BaseException | None = None

    @override
    def begin(self, context: contextvars.Context) -> Running:
        """Begin in a task of its own, for what needs the event loop."""
        return asyncio.get_running_loop().create_task(self._run(), context=context)

    async def _run(self) -> JobOutcome:
        """Enter what needs the event loop, whose context the thread inherits; then as any thread."""
        current_host.set(self._attempt.host)
        around = self._middleware.outside(self._context)
        await around.enter()
        try:
            return await super().begin(contextvars.copy_context())
        except BaseException as error:
            self._raised = error
            raise
        finally:
            await around.leave(self._raised)

    @override
    def _handle(self) -> object:
        try:
            return self._middleware.call(self._context, self._arguments)
        except BaseException as error:
            self._raised = error
            raise
