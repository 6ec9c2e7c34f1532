"""What the jobs themselves wrote down, outside the database, and where that contradicts what the database remembers."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.steps import StepState
from tests.chaos.history import History

Attempt: TypeAlias = tuple[int, int]
"""The number of a run, and that of its attempt."""


@dataclass(frozen=True)
class Testimony:
    """What the jobs wrote down.

    Attributes:
        begun_at: When each attempt began, by the same clock as ``acted``.
        begun: How often each attempt began.
        ended: How often each came to its end.
        acted: When each did something last, by the clock of the machine, which is the database's too.
        steps: Of each step that an attempt has done: the run, the attempt, the label of the step.
        frozen: How the names of nodes begin whose process stood still for a while: it can end nothing meanwhile.
    """

    __test__ = False

    begun_at: dict[Attempt, float] = field(default_factory=dict[Attempt, float])
    begun: Counter[Attempt] = field(default_factory=Counter[Attempt])
    ended: Counter[Attempt] = field(default_factory=Counter[Attempt])
    acted: dict[Attempt, float] = field(default_factory=dict[Attempt, float])
    frozen: Collection[str] = ()
    steps: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])


def read_testimony(path: Path, frozen: Collection[str] = ()) -> Testimony:
    """Read the file in which every line is a word, a run, an attempt and a time of day in seconds.

    The word of a step is ``step:`` and its label.
    """
    begun, ended, acted = Counter[Attempt](), Counter[Attempt](), dict[Attempt, float]()
    steps: list[tuple[int, int, str]] = []
    begun_at: dict[Attempt, float] = {}
    lines = path.read_text().splitlines() if path.exists() else []
    for word, run_id, number, at in (line.split() for line in lines):
        attempt = int(run_id), int(number)
        begun[attempt] += word == "begin"
        if word == "begin":
            begun_at.setdefault(attempt, float(at))
        ended[attempt] += word == "end"
        if word.startswith("step:"):
            steps.append((*attempt, word.removeprefix("step:")))
        acted[attempt] = max(acted.get(attempt, 0.0), float(at))
    return Testimony(begun_at, begun, ended, acted, frozen, steps)


def no_attempt_begins_twice(history: History, said: Testimony) -> Iterator[str]:
    return (f"attempt {attempt} began {count} times" for attempt, count in said.begun.items() if count > 1)


def every_attempt_that_begins_is_in_the_log(history: History, said: Testimony) -> Iterator[str]:
    logged = {(one.run_id, one.attempt) for one in history.executions}
    return (f"attempt {attempt} began without an execution" for attempt in +said.begun if attempt not in logged)


def what_succeeded_was_run_to_its_end(history: History, said: Testimony) -> Iterator[str]:
    for one in history.executions:
        attempt = one.run_id, one.attempt
        bears_witness = one.job_name == "work" or one.id in history.remote
        if bears_witness and one.outcome is Outcome.SUCCESS and not (said.begun[attempt] and said.ended[attempt]):
            yield f"attempt {attempt} succeeded without having been run to its end"


def a_stored_step_is_never_done_again(history: History, said: Testimony) -> Iterator[str]:
    stored = {(one.run_id, one.label): one.attempt for one in history.steps if one.state is StepState.DONE}
    for run_id, attempt, label in said.steps:
        by = stored.get((run_id, label))
        if by is not None and attempt > by:
            yield f"step {label} of run {run_id} was stored by attempt {by} and done again by attempt {attempt}"


def no_attempt_acts_after_the_lease_of_its_node(history: History, said: Testimony) -> Iterator[str]:
    """From then on another node may begin the run. A node that left in order has no lease, and nothing that runs.

    What is at an engine goes on: another node looks after it.
    """
    here = (one for one in history.executions if one.id not in history.remote)
    node_of = {(one.run_id, one.attempt): history.node_of[one.node_id] for one in here}
    for attempt, at in said.acted.items():
        node = node_of.get(attempt)
        if node is None or node.state is not NodeState.EXPIRED or node.name.startswith(tuple(said.frozen)):
            continue
        late = at - node.expires_at.timestamp()
        if late > 0:
            yield f"attempt {attempt} acted {late:.3f} s after the lease of node {node.name}"


def an_attempt_is_over_before_the_next_one_begins(history: History, said: Testimony) -> Iterator[str]:
    """Nothing that an attempt has begun acts beside the run's next attempt, unless its process stood still."""
    for (run_id, number), at in said.acted.items():
        following = said.begun_at.get((run_id, number + 1))
        if following is not None and at > following and not _stood_still(history, said, run_id, number):
            yield f"attempt {number} of run {run_id} acted {at - following:.3f} s after the next one had begun"


def no_key_acts_twice_at_once(history: History, said: Testimony) -> Iterator[str]:
    """Nothing of one run acts beside another run with the same key, where one may run at once."""
    of_key = defaultdict[str, list[Attempt]](list)
    for attempt in said.begun_at:
        run = history.run_of.get(attempt[0])
        alone = run is not None and run.concurrency_key is not None and (run.max_concurrent or 1) == 1
        if run is not None and alone and not _stood_still(history, said, *attempt):
            of_key[str(run.concurrency_key)].append(attempt)
    for key, attempts in of_key.items():
        ordered = sorted(attempts, key=lambda one: said.begun_at[one])
        for earlier, later in pairwise(ordered):
            over = said.acted.get(earlier, 0.0) - said.begun_at[later]
            if over > 0:
                yield f"run {earlier[0]} with key '{key}' acted {over:.3f} s after run {later[0]} had begun"


def _stood_still(history: History, said: Testimony, run_id: int, number: int) -> bool:
    found = next((one for one in history.executions_of.get(run_id, []) if one.attempt == number), None)
    return found is None or (found.id not in history.remote and found.node.startswith(tuple(said.frozen)))


TESTIMONY_RULES: tuple[Callable[[History, Testimony], Iterator[str]], ...] = (
    no_attempt_begins_twice,
    every_attempt_that_begins_is_in_the_log,
    what_succeeded_was_run_to_its_end,
    a_stored_step_is_never_done_again,
    no_attempt_acts_after_the_lease_of_its_node,
    an_attempt_is_over_before_the_next_one_begins,
    no_key_acts_twice_at_once,
)


RULES_OF_WHAT_IS_LEFT: tuple[Callable[[History, Testimony], Iterator[str]], ...] = (
    no_attempt_begins_twice,
    a_stored_step_is_never_done_again,
    an_attempt_is_over_before_the_next_one_begins,
    no_key_acts_twice_at_once,
)
"""The rules that hold where history was pruned, too."""


def contradictions(history: History, said: Testimony, *, pruned: bool = False) -> list[tuple[str, str]]:
    """Return where the history, or what pruning left of it, and the jobs disagree: the rule, and the place."""
    rules = RULES_OF_WHAT_IS_LEFT if pruned else TESTIMONY_RULES
    return [(rule.__name__.replace("_", " "), where) for rule in rules for where in rule(history, said)]
