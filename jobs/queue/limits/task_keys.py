"""The keys and labels of due tasks' runs, and the fate of an occurrence whose key is taken or that finds no room."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...core.admission.caps import Line
from ...core.admission.holding import Hold
from ...core.defaults import JobDefaults
from ...core.limits import NO_KEYS, Keys, key_of_task
from ...core.model import Json, SkipReason
from ...core.occurrences import Decision, DueTask, KeyInForce, Skip
from ...store.db.transaction import Tx
from ...store.statements import runs as stored_runs
from ...store.statements import tasks as stored_tasks
from ...store.statements.groups import caps as caps_of_groups
from ..base.new_runs import labels_text
from .caps import Capped, Room, drop, free_lines, lines_of, policy_of


@dataclass(slots=True)
class TaskKeys:
    """The keys of some due tasks.

    Attributes:
        keys: The unique ones by the task's id; left out where its runs have none.
        holders: The unfinished runs that have one, by key; None = a run that this visit is about to make.
        limits: The limits of the runs, by the task's id, where their jobs or the tasks themselves limit them.
        holds: How the unique keys hold, by the task's id, where their jobs say it.
    """

    keys: Mapping[int, str]
    holders: dict[str, int | None]
    limits: Mapping[int, Keys]
    holds: Mapping[int, Hold]

    def in_force(self, task: DueTask) -> KeyInForce | None:
        """Return the key of this task's runs; None = they have none."""
        key = self.keys.get(task.id)
        return None if key is None else KeyInForce(key, key in self.holders)

    def take(self, task: DueTask, decision: Decision) -> None:
        """Note that this decision makes a run that has its key from now on."""
        key = self.keys.get(task.id)
        if key is not None and any(not one.replaced for one in decision.runs):
            self.holders.setdefault(key, None)

    def holder(self, task: DueTask) -> int | None:
        """Return the unfinished run that has the key of this task's runs, as far as it is known."""
        return self.holders.get(self.keys.get(task.id, ""))


def keys_of(tx: Tx, due: Sequence[DueTask], declared: Mapping[str, JobDefaults]) -> TaskKeys:
    """Return the keys of these tasks' runs.

    Args:
        tx: The transaction that has locked them.
        declared: Their jobs' defaults, by name.
    """
    rules = {task.id: rule for task in due if (rule := declared.get(task.job_name)) is not None and _has_keys(rule)}
    own = {task.id: key_of_task(task.id) for task in due if task.rate is not None}
    limits = {task_id: Keys(rate_key=key) for task_id, key in own.items()}
    if not rules:
        return TaskKeys({}, {}, limits, {})
    args = stored_tasks.args_of(tx.conn, sorted(rules))
    jobs = {task.id: task.job_name for task in due}
    made = ((task_id, _key(rule, jobs[task_id], args[task_id])) for task_id, rule in rules.items())
    keys = {task_id: key for task_id, key in made if key is not None}
    holds = {task_id: rule.hold for task_id, rule in rules.items() if rule.hold is not None}
    limits |= {
        task_id: rule.limits.keys_of(jobs[task_id], args[task_id], limits.get(task_id, NO_KEYS))
        for task_id, rule in rules.items()
        if rule.limits is not None
    }
    holders: dict[str, int | None] = {}
    if keys:
        holders |= stored_runs.holders_of_keys(tx.conn, set(keys.values()))
    if holds:
        held = {keys[task_id] for task_id in holds} - holders.keys()
        holders |= stored_runs.holders_for_a_time(tx.conn, held, tx.now)
    return TaskKeys(keys, holders, limits, holds)


def _has_keys(defaults: JobDefaults) -> bool:
    return defaults.makes_keys or defaults.hold is not None


def _key(defaults: JobDefaults, job_name: str, args: Mapping[str, Json]) -> str | None:
    made = None if defaults.unique_key is None else defaults.unique_key.of(job_name, args)
    return job_name if made is None and defaults.hold is not None else made


def labels_of(tx: Tx, due: Sequence[DueTask], declared: Mapping[str, JobDefaults]) -> dict[int, str]:
    """Return the labels of these tasks' runs, the text of a JSON object, by the task's id.

    Left out are tasks whose jobs say nothing of labels: their runs have those of the task.
    """
    of_jobs = {name: one.labels for name, one in declared.items()}
    rules = {task.id: rule for task in due if (rule := of_jobs.get(task.job_name)) is not None}
    found = stored_tasks.args_and_labels_of(tx.conn, sorted(rules)) if rules else {}
    return {task_id: labels_text(rules[task_id].as_far_as_possible(*both)) for task_id, both in found.items()}


def left_out(tx: Tx, key: str, decision: Decision, task: DueTask) -> Skip | None:
    """Return the skip of an occurrence that made no run because another enqueue took its key first."""
    planned = next(one for one in decision.runs if not one.replaced)
    holder = stored_runs.unfinished_with_key(tx.conn, key)
    if holder is not None and (holder.task_id, holder.scheduled_for) == (task.id, planned.scheduled_for):
        return None
    when = planned.scheduled_for
    return Skip(SkipReason.UNIQUE_KEY, when, when, 1, {"uniqueKey": key})


def not_made(
    keys: TaskKeys, pairs: Iterable[tuple[DueTask, Decision]], made: Iterable[int]
) -> list[tuple[DueTask, Decision]]:
    """Return the tasks with keys that should have got a run and did not."""
    have = set(made)
    return [
        (task, decision)
        for task, decision in pairs
        if task.id in keys.keys and task.id not in have and any(not one.replaced for one in decision.runs)
    ]


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
        """Return ``pairs`` with skips in place of runs without room; runs that have to give way are dropped."""
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
    """Return a decision that makes no runs where there is no room."""
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
