"""What must be true wherever two features meet."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from cronograph.jobs.core.events import EventKind
from cronograph.jobs.core.states import FINAL, RunState
from tests.chaos.history import RUN_EVENTS, History


@dataclass(frozen=True)
class Meant:
    """How a run may end.

    Attributes:
        states: The states that it may be in at the end.
    """

    states: frozenset[str]

    @classmethod
    def anything(cls) -> Self:
        """Return that every end is right, as long as it is one."""
        return cls(frozenset(state.value for state in FINAL))

    def __or__(self, other: "Meant") -> "Meant":
        return Meant(self.states | other.states)


def broken_ends(history: History, meant: Mapping[int, Meant], *, pruned: bool = False) -> Iterator[str]:
    """Yield the acknowledged runs that are not there, have not ended, or have ended otherwise than they were meant to.

    Args:
        history: What has happened.
        meant: How the runs may end, by id.
        pruned: Whether runs that have ended may be gone.
    """
    for run_id, end in meant.items():
        run = history.run_of.get(run_id)
        if run is None:
            if not pruned:
                yield f"run {run_id} was acknowledged and is not there"
        elif run.state.value not in end.states:
            ended = f"run {run_id} of {run.job_name} is {run.state.value}, not one of {sorted(end.states)}: {run.error}"
            yield f"{ended}; its arguments are {run.args}, its key is {run.unique_key}"


def a_unique_key_has_one_unfinished_run(history: History) -> Iterator[str]:
    """While a run with a unique key is unfinished no second one is made, unless the key is free from the start on.

    A key that is debounced is held by the run that waits; one that has begun has the arguments that it began with.
    """
    unfinished = defaultdict[str, set[int]](set)
    for change in history.changes(RUN_EVENTS):
        run = history.run_of.get(change.run_id or 0)
        if run is None or run.unique_key is None or run.id in history.held_until_start:
            continue
        key = run.unique_key
        if change.kind is EventKind.RUN_CREATED and unfinished[key]:
            yield f"run {run.id} with key '{key}' was made while {sorted(unfinished[key])} were unfinished"
        if RunState(change.state or "") in FINAL:
            unfinished[key].discard(run.id)
        else:
            unfinished[key].add(run.id)
