"""Change queue groups and the rates of jobs, and keep figures of the queue."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from ..core.admission.caps import Bucket, Cap, Rate, cap_faults, rate_faults
from ..core.arguments.revisions import Revised, RevisedKind, group_values, job_values
from ..core.base.errors import InvalidInput, UserError, refuse
from ..core.defaults import JobInfo, keep_faults
from ..core.events import Change, EventKind
from ..core.model import Group
from ..core.rules import check_name, check_reason, check_resume, seconds_faults, unknown_job
from ..queue.limits.admission import change_job_rate
from ..queue.losses import hand_back
from ..store.db.transaction import Tx, Wake
from ..store.statements import blocks, groups, nodes
from ..store.statements import jobs as stored_jobs
from ..store.statements.figures import hours
from ..store.statements.figures.depth import KEPT_FOR, Part
from ..store.statements.prunable import History


def pause_group(
    tx: Tx, name: str, *, reason: str | None = None, actor: str | None = None, until: datetime | None = None
) -> Group:
    """Let no run of a group start; those handed to nodes but not started go back to the queue.

    Pausing twice keeps the first time and the newer reason. With ``until`` the pause ends by itself.

    Raises:
        InvalidInput: that time is not in the future, or a text is not as it must be.
    """
    check_name(name)
    check_reason(reason)
    check_resume(until, tx.now)
    before = groups.ensure(tx.conn, name)
    since = before.paused_at or tx.now
    group = groups.pause(tx.conn, name, actor=actor or "", reason=reason, now=since, until=until)
    hand_back(tx, {"group_name": name})
    return _changed(tx, before, group)


def resume_group(tx: Tx, name: str, *, actor: str | None = None) -> Group:
    """Let a paused group run again."""
    del actor
    check_name(name)
    before = groups.ensure(tx.conn, name)
    return _changed(tx, before, groups.resume(tx.conn, name))


def update_group(tx: Tx, name: str, *, max_running: int | None) -> Group:
    """Set how many runs of the group may be scheduled or running on all nodes together; None = no limit."""
    check_name(name)
    if max_running is not None and not 0 <= max_running < 2**31:
        raise InvalidInput(
            f"maxRunning: must be a whole number from 0 to {2**31 - 1} or null for no limit, got {max_running}",
            path=("maxRunning",),
        )
    before = groups.ensure(tx.conn, name)
    return _changed(tx, before, groups.limit(tx.conn, name, max_running))


def set_max_wait_low(tx: Tx, name: str, *, seconds: float | None) -> Group:
    """Set after how long a due run of low priority goes before those of high priority of its group; None = never."""
    check_name(name)
    if seconds is not None:
        refuse(seconds_faults(seconds, "maxWaitLow"))
    before = groups.ensure(tx.conn, name)
    return _changed(tx, before, groups.set_max_wait_low(tx.conn, name, seconds))


def set_group_rate(tx: Tx, name: str, *, rate: Rate | None) -> Group:
    """Set how many runs of the group start in how long, on all nodes together; None = any number.

    Those handed to nodes but not started go back to the queue: they have no token.
    """
    check_name(name)
    if rate is not None:
        refuse(rate_faults(rate.limit, rate.per, rate.burst))
    before = groups.ensure(tx.conn, name)
    full_at = None if rate is None else Bucket(rate, before.rate_full_at).settled(tx.now).full_at
    group = groups.set_rate(tx.conn, name, rate, full_at)
    if rate is not None and before.rate is None:
        hand_back(tx, {"group_name": name})
    return _changed(tx, before, group)


def set_group_cap(tx: Tx, name: str, *, cap: Cap | None) -> Group:
    """Limit the group's waiting runs, and set the fate of further ones; None = any number. Waiting runs are kept."""
    check_name(name)
    if cap is not None:
        refuse(cap_faults(cap.limit, cap.when_full))
    before = groups.ensure(tx.conn, name)
    return _changed(tx, before, groups.set_cap(tx.conn, name, cap))


def set_job_rate(tx: Tx, name: str, *, rate: Rate | None) -> JobInfo:
    """Set how many runs of a job start in how long, instead of its code's rate; None = as its code says.

    It holds from now on, also for runs that wait, and outlives new versions of the code.

    Raises:
        UserError: code ``UNKNOWN_JOB``: no node has published the job.
        InvalidInput: it is no rate, or the code of the job says none.
    """
    if rate is not None:
        refuse(rate_faults(rate.limit, rate.per, rate.burst))
    before = stored_jobs.by_names(tx.conn, [name]).get(name)
    if before is None:
        raise unknown_job(name, stored_jobs.all_names(tx.conn))
    in_force = None if before.defaults.limits is None else before.defaults.limits.rate
    if rate is not None and in_force is None:
        raise InvalidInput(
            f"rate: the code of job '{name}' says none, so its runs have no bucket to take tokens from; give it a rate "
            "there, or put the job into a group and limit that",
            path=("rate",),
        )
    nodes.set_rate(tx.conn, name, rate)
    after = stored_jobs.by_names(tx.conn, [name])[name]
    tx.revise(Revised(RevisedKind.JOB, name, name), job_values(before), job_values(after))
    if after.defaults.limits is not None and after.defaults.limits.rate is not None:
        change_job_rate(tx, name, after.defaults.limits.rate)
    return after


def set_group_keep(tx: Tx, name: str, *, seconds: float | None) -> Group:
    """Set how long the history of the group's finished runs is kept; None = as their jobs say.

    The next pruning goes by it. Deleted history does not come back.
    """
    check_name(name)
    refuse(keep_faults(seconds))
    before = groups.ensure(tx.conn, name)
    return _changed(tx, before, groups.set_keep(tx.conn, name, seconds))


_SETTERS: Final[Mapping[str, Callable[[Tx, str, Any], Group]]] = {
    "max_running": lambda tx, name, value: update_group(tx, name, max_running=value),
    "rate": lambda tx, name, value: set_group_rate(tx, name, rate=value),
    "max_wait_low": lambda tx, name, value: set_max_wait_low(tx, name, seconds=value),
    "cap": lambda tx, name, value: set_group_cap(tx, name, cap=value),
    "keep": lambda tx, name, value: set_group_keep(tx, name, seconds=value),
}


def change_limits(tx: Tx, name: str, limits: Mapping[str, Any]) -> None:
    """Set some limits of a group, by the names they have in ``Group``; None = no limit.

    Raises:
        UserError: with everything that is wrong.
    """
    check_name(name)
    faults: list[UserError] = []
    for limit, value in limits.items():
        try:
            _SETTERS[limit](tx, name, value)
        except UserError as refusal:
            faults += refusal.faults
    refuse(faults)


def _changed(tx: Tx, before: Group, group: Group) -> Group:
    if group == before:
        return group
    tx.emit([Change(EventKind.GROUP_UPDATED, group=group.name)])
    tx.revise(Revised(RevisedKind.GROUP, group.name), group_values(before), group_values(group))
    tx.wake(Wake.RUNS | Wake.GROUPS)
    return group


def keep_depth(tx: Tx, minute: datetime, parts: Sequence[Part]) -> bool:
    """Keep the depth of the queue at a minute, and forget old minutes; False if another node has kept that minute."""
    if not hours.keep_depth(tx.conn, minute, parts):
        return False
    hours.forget_depth(tx.conn, minute - KEPT_FOR)
    return True


def count_hour(tx: Tx, hour: datetime) -> bool:
    """Count an hour that is over, unless something that began in it still runs; return whether it is counted now."""
    return hours.count_hour(tx.conn, hour)


def make_block(tx: Tx, history: History, newest: int) -> bool:
    """Make the block into which this history will grow if ids will be there soon; return whether it was made."""
    return blocks.cut(tx.conn, history, newest)
