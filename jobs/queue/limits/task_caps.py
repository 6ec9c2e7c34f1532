"""Due tasks whose runs may wait in limited number only: occurrences that find no room are recorded as skipped."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ...core.admission.caps import Line
from ...core.defaults import JobDefaults
from ...core.limits import Keys
from ...core.model import SkipReason
from ...core.occurrences import Decision, DueTask, Skip
from ...store.db.transaction import Tx
from ...store.read.groups import caps as caps_of_groups
from .caps import Capped, Room, drop, free_lines, lines_of, policy_of


@dataclass(frozen=True, slots=True)
class TaskCaps:
    """Name the lines in which the runs of some due tasks are counted while they wait.

    Attributes:
        of_tasks: The lines with caps by the task's id; left out where there are none.
        new: The same for each, with the caps.
        busy: The lines that somebody enqueues into at this moment.
    """

    of_tasks: Mapping[int, tuple[Line, ...]]
    new: Capped
    busy: Collection[Line] = ()

    def ready(self, due: Sequence[DueTask]) -> Sequence[DueTask]:
        """Return the tasks whose lines are free to be locked at once."""
        return [one for one in due if not set(self.of_tasks.get(one.id, ())) & set(self.busy)] if self.busy else due

    def judged(
        self, tx: Tx, pairs: Sequence[tuple[DueTask, Decision]], node: str | None
    ) -> Sequence[tuple[DueTask, Decision]]:
        """``pairs`` with skips in the place of runs without room; runs that have to give way are dropped."""
        planned = [
            (task.id, place)
            for task, decision in pairs
            for place, run in enumerate(decision.runs)
            if task.id in self.of_tasks and not run.replaced
        ]
        if not planned:
            return pairs
        asked = [self.of_tasks[task_id] for task_id, _ in planned]
        wanted = {line for lines in asked for line in lines}
        caps = {line: cap.never_refusing() for line, cap in self.new.caps.items() if line in wanted}
        room = Room(tx.conn, Capped(asked, caps), is_ours=True)
        if room.suffices:
            return pairs
        verdict = room.verdict(asked)
        drop(tx, verdict.replaced, caps, node=node)
        lacking = {planned[place]: line for place, line in verdict.dropped.items()}
        return [(task, _without(decision, task, lacking, self.new)) for task, decision in pairs]


def _without(decision: Decision, task: DueTask, lacking: Mapping[tuple[int, int], Line], new: Capped) -> Decision:
    """A decision that makes no runs where there is no room."""
    skipped = [(run, lacking[task.id, place]) for place, run in enumerate(decision.runs) if (task.id, place) in lacking]
    if not skipped:
        return decision
    skips = tuple(
        Skip(SkipReason.QUEUE_FULL, run.scheduled_for, run.scheduled_for, 1, policy_of(line, new.caps))
        for run, line in skipped
    )
    runs = tuple(run for place, run in enumerate(decision.runs) if (task.id, place) not in lacking)
    return decision._replace(runs=runs, skips=(*decision.skips, *skips))


def task_caps(
    tx: Tx,
    due: Sequence[DueTask],
    known: Mapping[str, JobDefaults],
    keys: Mapping[int, Keys],
    *,
    any_group: bool,
) -> TaskCaps:
    """Return the lines of these tasks; nobody else enqueues there before the commit, except into the busy ones.

    Nobody is waited for: an application may keep its transaction open as long as it likes.

    Args:
        tx: The transaction that has locked the tasks.
        due: The tasks.
        known: Their jobs' defaults, by name.
        keys: The limits of their runs, by the task's id, as far as they have any.
        any_group: Whether any group at all has a cap.
    """
    of_groups = caps_of_groups(tx.conn, {task.group for task in due}) if any_group else {}
    of_jobs = {name: one.limits.cap for name, one in known.items() if one.limits is not None and one.limits.cap}
    if not of_groups and not of_jobs:
        return TaskCaps({}, Capped([], {}))
    of_keys = [
        (Line(task.job_name, keys[task.id].cap_key or ""), of_jobs[task.job_name])
        if task.job_name in of_jobs and task.id in keys
        else None
        for task in due
    ]
    new = lines_of(zip(of_keys, (task.group for task in due), strict=True), of_groups)
    of_tasks = {task.id: lines for task, lines in zip(due, new.asked, strict=True) if lines}
    return TaskCaps(of_tasks, new, new.caps.keys() - free_lines(tx.conn, new.caps))
