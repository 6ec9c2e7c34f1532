"""The states of a run and the one table that says which may follow which."""

from collections.abc import Mapping
from enum import StrEnum


class RunState(StrEnum):
    """The state of a run.

    ``WAITING``: in the queue, claimable once ``available_at`` has come.
    ``SCHEDULED``: handed to a node ahead of a free slot; no attempt has begun.
    ``RUNNING``: a node executes it.
    ``STUCK``: failed or lost, will be retried strictly after ``available_at``.
    ``SUSPENDED``: sleeps, or waits for a signal or for other runs. It holds no slot, and no node takes it.
    ``SUCCESS``, ``FAILED``, ``CANCELLED``, ``SKIPPED`` (dropped before its start) are final.
    """

    WAITING = "waiting"
    SCHEDULED = "scheduled"
    RUNNING = "running"
    STUCK = "stuck"
    SUSPENDED = "suspended"
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


_W, _H, _R, _T = RunState.WAITING, RunState.SCHEDULED, RunState.RUNNING, RunState.STUCK
_U = RunState.SUSPENDED
_OK, _F, _C, _S = RunState.SUCCESS, RunState.FAILED, RunState.CANCELLED, RunState.SKIPPED

TRANSITIONS: Mapping[RunState, frozenset[RunState]] = {
    _W: frozenset({_H, _R, _F, _C, _S}),
    _H: frozenset({_R, _W, _C, _S}),
    _R: frozenset({_OK, _F, _T, _C, _W, _U}),
    _T: frozenset({_H, _R, _F, _C}),
    _U: frozenset({_W, _F, _C, _S}),
    _OK: frozenset(),
    _F: frozenset(),
    _C: frozenset(),
    _S: frozenset(),
}
"""Every allowed change of state; there are no others."""

FINAL = frozenset(state for state, following in TRANSITIONS.items() if not following)
"""States that nothing follows."""

UNFINISHED = frozenset(RunState) - FINAL
"""States in which a run still counts for overlap policies and unique keys."""

OCCUPYING = frozenset({RunState.SCHEDULED, RunState.RUNNING})
"""States in which a node holds the run."""

CLAIMABLE = frozenset({RunState.WAITING, RunState.STUCK})
"""States from which a node may take the run."""


RELEASING = frozenset({RunState.CANCELLED, RunState.SKIPPED})
"""States of a run that holds its unique key no longer, even if time is left."""


def sources_of(new: RunState) -> frozenset[RunState]:
    """Return all states from which ``new`` may be reached.

    Statements that change a state name those they start from, most of them one. The databases of the tests refuse every
    change that is not in ``TRANSITIONS`` (``tests/support/transitions.py``).
    """
    return frozenset(old for old, following in TRANSITIONS.items() if new in following)
