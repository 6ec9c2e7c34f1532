"""``asyncio.all_tasks()`` as a job sees it: the tasks that it has made itself, and not those of other jobs.

All jobs of a node share one event loop. To cancel all tasks is how many programs clean up, and a job may do so, too.
"""

import asyncio
from typing import Any, Final
from weakref import WeakKeyDictionary

from .ownership import Owner, owner

_owners: Final[WeakKeyDictionary[asyncio.Task[Any], Owner]] = WeakKeyDictionary()
_everybodys: Final = asyncio.all_tasks


def note(task: asyncio.Task[Any], of: Owner) -> None:
    """Remember whose code has made a task."""
    _owners[task] = of


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
