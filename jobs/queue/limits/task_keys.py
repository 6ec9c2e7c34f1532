"""The keys and labels of due tasks' runs, and the fate of an occurrence whose key an unfinished run has."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...core.admission.holding import Hold
from ...core.defaults import JobDefaults
from ...core.limits import NO_KEYS, Keys, key_of_task
from ...core.model import Json, SkipReason
from ...core.occurrences import Decision, DueTask, KeyInForce, Skip
from ...store.db.transaction import Tx
from ...store.read import runs as stored_runs
from ...store.read import tasks as stored_tasks
from ..base.new_runs import labels_text


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
        """The key of this task's runs; None = they have none."""
        key = self.keys.get(task.id)
        return None if key is None else KeyInForce(key, key in self.holders)

    def take(self, task: DueTask, decision: Decision) -> None:
        """Note that this decision makes a run that has its key from now on."""
        key = self.keys.get(task.id)
        if key is not None and any(not one.replaced for one in decision.runs):
            self.holders.setdefault(key, None)

    def holder(self, task: DueTask) -> int | None:
        """The unfinished run that has the key of this task's runs, as far as it is known."""
        return self.holders.get(self.keys.get(task.id, ""))


def keys_of(tx: Tx, due: Sequence[DueTask], declared: Mapping[str, JobDefaults]) -> TaskKeys:
    """The keys of these tasks' runs.

    Args:
        tx: The transaction that has locked them.
        due: The tasks.
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
    """The labels of these tasks' runs, the text of a JSON object, by the task's id.

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
