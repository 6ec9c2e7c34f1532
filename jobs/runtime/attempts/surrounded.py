"""A thread whose job has hooks or resources: what needs an event loop goes around the thread, the rest inside it."""

from typing import Any

from typing_extensions import override

from ...context import JobContext, current_host
from ...core.outcome import JobOutcome
from ..job.surroundings import Surroundings
from .attempt import Attempt
from .bodies import ThreadBody


class SurroundedThread(ThreadBody):
    """A plain function in a thread of its own, within its surroundings.

    Args:
        attempt: What it runs.
        arguments: Of the handler.
        surroundings: Of its job.
        context: Of the attempt.
    """

    def __init__(
        self, attempt: Attempt, arguments: dict[str, Any], surroundings: Surroundings, context: JobContext
    ) -> None:
        super().__init__(attempt, arguments)
        self._surroundings = surroundings
        self._context = context
        self._raised: BaseException | None = None

    @override
    async def run(self) -> JobOutcome:
        """Enter what needs the event loop, whose context the thread inherits; then as any thread."""
        current_host.set(self._attempt.host)
        around = self._surroundings.outside(self._context)
        await around.enter()
        try:
            return await super().run()
        except BaseException as error:
            self._raised = error
            raise
        finally:
            await around.leave(self._raised)

    @override
    def _handle(self) -> object:
        try:
            return self._surroundings.call(self._context, self._arguments)
        except BaseException as error:
            self._raised = error
            raise
