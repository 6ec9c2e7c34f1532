"""What can be done to published jobs."""

from ..core.base.errors import InvalidInput, refuse
from ..core.base.rates import Rate, rate_faults
from ..core.defaults import JobInfo
from ..core.rules import unknown_job
from ..queue.admission import change_job_rate
from ..store.db.transaction import Tx
from ..store.read import jobs as stored_jobs
from ..store.write import jobs


def set_job_rate(tx: Tx, name: str, *, rate: Rate | None) -> JobInfo:
    """Set how many runs of a job start in how long, instead of what its code says; None = as its code says.

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
    tx.note_before(name, rate=None if in_force is None else in_force.words)
    jobs.set_rate(tx.conn, name, rate)
    after = stored_jobs.by_names(tx.conn, [name])[name]
    if after.defaults.limits is not None and after.defaults.limits.rate is not None:
        change_job_rate(tx, name, after.defaults.limits.rate)
    return after
