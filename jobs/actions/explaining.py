"""Explanations for many tasks or runs at once: facts from the database, sentences from the rules."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from ..core.explain import Explanation, explain_run, explain_task
from ..core.model import Run, Task
from ..store import explaining


def explain_tasks(conn: Connection, tasks: Sequence[Task], now: datetime) -> dict[int, Explanation]:
    """Why each of these tasks is or is not running now, by id. ``now`` is the database's time."""
    facts = explaining.task_facts(conn, tasks)
    return {task.id: explain_task(task, facts[task.id], now) for task in tasks}


def explain_runs(conn: Connection, runs: Sequence[Run], now: datetime) -> dict[int, Explanation]:
    """Why each of these runs is in its state and what it waits for, by id. ``now`` is the database's time."""
    facts = explaining.run_facts(conn, runs, now)
    return {run.id: explain_run(run, facts[run.id], now) for run in runs}
