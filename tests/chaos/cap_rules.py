"""What must be true of runs of which only so many may wait: of every history in which nobody changed a cap."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby

from cronograph.jobs.core.admission.caps import Cap, Line
from cronograph.jobs.core.events import EventKind
from cronograph.jobs.core.model import Run
from cronograph.jobs.core.states import RunState
from tests.chaos.history import RUN_EVENTS, History

FOLLOWER = "joint_full"
"""A job whose runs follow ends alone."""


def no_queue_passes_its_cap(history: History) -> Iterator[str]:
    """Whenever runs were enqueued, no more waited then than may; those of flows are not counted.

    What follows an end goes into a line uncounted while somebody else enqueues there: no end waits for that.
    """
    waiting = defaultdict[Line, set[int]](set)
    told = (one for one in history.events if one.change.kind in RUN_EVENTS)
    for _, batch in groupby(told, key=lambda one: one.cursor.seq):
        grown = set[Line]()
        for one in batch:
            run = history.run_of.get(one.change.run_id or 0)
            if run is None or run.flow_id is not None or run.job_name == FOLLOWER:
                continue
            state = one.change.state
            for line in _lines(run):
                if one.change.kind is EventKind.RUN_CREATED and state == RunState.WAITING:
                    waiting[line].add(run.id)
                    grown.add(line)
                elif state not in (RunState.WAITING, RunState.SCHEDULED):
                    waiting[line].discard(run.id)
        for line in grown:
            cap = _cap(history, line)
            if cap is not None and len(waiting[line]) > cap.limit:
                yield f"{line.words}: {len(waiting[line])} waited, and {cap.limit} may"


def _lines(run: Run) -> list[Line]:
    own = [] if run.cap_key is None else [Line(run.job_name, run.cap_key)]
    return [*own, Line(None, run.group)]


def _cap(history: History, line: Line) -> Cap | None:
    return history.group_caps.get(line.name) if line.job_name is None else history.job_caps.get(line.job_name)
