"""In words: until when the history of a finished run is kept, and which rule says so."""

from datetime import datetime

from ..model import Run
from ..retention import Keeping, Retained
from .facts import moment, span


def kept_until(run: Run, ended: datetime, retained: Retained) -> tuple[str, ...]:
    """Until when a run that ended at ``ended`` is kept with its executions, and why."""
    if retained.pruning is None:
        return ("Its history is kept for good: no task prunes it.",)
    if retained.is_paused:
        return (f"Its history is kept while the task '{retained.pruning}', which prunes it, is paused.",)
    sentences = _by_age(run, ended, retained.kept, retained.pruning)
    if run.task_id is not None:
        if retained.max_per_task is not None:
            sentences.append(f"Before that it goes once its task has {retained.max_per_task:,} newer executions.")
        sentences.append("The newest execution of a task always stays.")
    return tuple(sentences)


def _by_age(run: Run, ended: datetime, kept: Keeping, pruning: str) -> list[str]:
    keep, by = kept.rule_of(run.job_name, run.group)
    if run.flow_id is not None and keep < kept.age:
        keep, by = kept.age, None
    rule = f"task '{pruning}'" if by is None else by
    why = f"{span(keep.total_seconds())}, as {rule} says"
    if ended + keep < kept.now:
        sentences = [f"Its history is kept for {why}: the next pruning may delete it."]
    else:
        sentences = [f"Its history is kept until {moment(ended + keep)}: for {why}."]
    if run.flow_id is not None:
        sentences.append(f"It is pruned together with flow {run.flow_id}, and not before that has ended for so long.")
    return sentences
