"""Whose code runs in the event loop of the jobs, and who learns that it wanted to end the process."""

import asyncio
import contextvars
import logging
from contextvars import ContextVar
from typing import Any, Final, Protocol

log = logging.getLogger(__name__)


class Owner(Protocol):
    """An attempt, or something else that runs code of the user."""

    def wants_exit(self, error: BaseException) -> None:
        """This code wanted to end the process or the loop, outside of what anybody awaits; called in the loop."""
        ...

    def note_task(self, task: "asyncio.Task[Any]") -> None:
        """Own a task that this code has made; called in the loop."""
        ...


owner: Final[ContextVar[Owner | None]] = ContextVar("cronograph_owner", default=None)
"""Whose code runs: tasks, callbacks and timers inherit it. None = the node's own."""


class Outsider:
    """Code of the user that belongs to no attempt."""

    def __init__(self, what: str) -> None:
        self._what = what

    def wants_exit(self, error: BaseException) -> None:
        """Nobody awaits this, so it is logged."""
        log.error("%s raised %s, and nothing ends by it", self._what, type(error).__name__, exc_info=error)

    def note_task(self, task: "asyncio.Task[Any]") -> None:
        """It may go on."""

    def context(self) -> contextvars.Context:
        """A copy of the present context, in which what runs is this one's."""
        context = contextvars.copy_context()
        context.run(owner.set, self)
        return context


class SharedLoopError(RuntimeError):
    """Code of a job wanted to end what all jobs of its node share."""


def is_asked_to_end(error: BaseException) -> bool:
    """Whether ``error`` is the cancel of the present task, and not something that its code has raised by itself."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


EXITS: Final = (SystemExit, KeyboardInterrupt)
"""What an event loop lets out on purpose, so that it ends."""
