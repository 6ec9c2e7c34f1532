"""``asyncio.all_tasks()`` as a job sees it: the tasks that it has made itself, and not those of other jobs.

All jobs of a node share one event loop. To cancel all tasks is how many programs clean up, and a job may do so, too.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, ParamSpec, TypeVar, cast
from weakref import WeakKeyDictionary

from ...base.branches import Branches
from .ownership import Owner, owner

P = ParamSpec("P")
T = TypeVar("T")

_owners: Final[WeakKeyDictionary[asyncio.Task[Any], Owner]] = WeakKeyDictionary()
_everybodys: Final = asyncio.all_tasks


def note(task: asyncio.Task[Any], of: Owner) -> None:
    """Remember whose code has made a task."""
    _owners[task] = of
    of.note_task(task)


_branches: Final[ContextVar[Branches | None]] = ContextVar("cronograph_branches", default=None)


@contextmanager
def noting_tasks(of: Branches) -> Generator[None]:
    """Have an attempt own the tasks that are made in this context, in a loop that is no ``JobLoop``."""
    loop = asyncio.get_running_loop()
    before: Any = loop.get_task_factory()

    def make(
        loop: asyncio.AbstractEventLoop,
        coro: Coroutine[Any, Any, Any],
        *,
        context: Context | None = None,
        **more: Any,  # noqa: ANN401 - what asyncio hands on
    ) -> asyncio.Task[Any]:
        if before is None:
            made: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, context=context, **more)
        else:
            made = before(loop, coro, context=context, **more)
        owned_by = _branches.get() if context is None else context.get(_branches)
        if owned_by is not None:
            owned_by.note(made)
        return made

    token = _branches.set(of)
    loop.set_task_factory(cast("Any", make))
    try:
        yield
    finally:
        loop.set_task_factory(before)
        _branches.reset(token)


def as_node(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call something that makes tasks which are the node's, though a job asks for them: they do not end with it."""
    context = copy_context()
    context.run(owner.set, None)
    context.run(_branches.set, None)
    return context.run(call, *args, **kwargs)


def retrieve(error: BaseException) -> None:
    """Nobody else has to know what tasks of jobs ended with: it ends the attempt whose code raised it.

    Otherwise asyncio logs it, whenever such a task is collected, as an exception that was never retrieved.
    """
    for task in list(_owners):
        # What others ended with is still nobody's, and ``exception()`` would be taken for somebody who wants to know.
        if task.done() and not task.cancelled() and task._exception is error:  # noqa: SLF001 - see above
            task.exception()


def own_tasks(loop: asyncio.AbstractEventLoop | None = None) -> set[asyncio.Task[Any]]:
    """The tasks of a loop that have not ended; for a job without those of others.

    Args:
        loop: Which; the running one unless given.
    """
    mine = owner.get()
    tasks = _everybodys(loop)
    return tasks if mine is None else {task for task in tasks if _owners.get(task, mine) is mine}


def show_own_tasks_only() -> None:
    """Let ``asyncio.all_tasks`` be ``own_tasks`` in this process; the same for everybody but jobs.

    asyncio has no other place where this could be said: a task is either registered for all who ask, or for nobody.
    """
    for module in (asyncio, asyncio.tasks):
        vars(module)["all_tasks"] = own_tasks
