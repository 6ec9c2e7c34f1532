"""A client whose runs combine features two by two, that interferes with them, and knows how each may end."""

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

from tests.chaos.client import SIGNAL, Client
from tests.chaos.joint_rules import Meant

ENQUEUE = """
mutation ($runs: [EnqueueRunInput!]!) {
  enqueueRuns(input: { runs: $runs }) { runs { id isDeduplicated } errors { message } }
}
"""
ENQUEUE_FLOW = """
mutation ($input: EnqueueFlowInput!) {
  enqueueFlow(input: $input) { flow { id runs(first: 5) { nodes { id } } } errors { message } }
}
"""
CANCEL = "mutation ($input: CancelRunInput!) { cancelRun(input: $input) { run { id } errors { message } } }"
RETRY = "mutation ($input: RetryRunInput!) { retryRun(input: $input) { run { id } errors { message } } }"
RETRY_FLOW = "mutation ($input: RetryFlowInput!) { retryFlow(input: $input) { flow { id } errors { message } } }"
PAUSE = "mutation ($input: PauseGroupInput!) { pauseGroup(input: $input) { group { name } errors { message } } }"
RESUME = "mutation ($input: ResumeGroupInput!) { resumeGroup(input: $input) { group { name } errors { message } } }"
TRIGGER_TASK = "mutation ($input: TriggerTaskInput!) { triggerTask(input: $input) { run { id } errors { message } } }"
PRUNE = "mutation ($input: PruneHistoryInput!) { pruneHistory(input: $input) { run { id } errors { message } } }"
LIMIT = "mutation ($input: UpdateGroupInput!) { updateGroup(input: $input) { group { name } errors { message } } }"

LIMITED, PAUSED = "joint-limited", "joint-paused"
"""A group that runs one at a time, and one that is paused now and then."""
REPLACING = "joint-replacing"
"""A task whose occurrences replace each other."""
LANES = ("a", "b", "c")
KEYED = ("unique", "unique_for", "debounce", "throttle")
"""Runs that stand for others may have the arguments of one and the retries of another."""
FEW, ALWAYS = 3, 1_000_000
"""How many attempts fail."""
LEAST_PACE = 0.3
"""Seconds between two requests at least: each asks for a lot."""
EACH = 4
"""Runs in one request."""
A_MOMENT = 1e-5
"""Days: everything that has ended is pruned."""
FEATURES: dict[str, tuple[str, ...]] = {
    "isolation": ("async", "thread", "process"),
    "act": (
        *("act", "step", "sleep", "signal", "timed wait", "child", "keyed child", "children", "branches", "overrun"),
        *("snooze", "refused at end", "told at end"),
    ),
    "hold": (
        *("plain", "rate", "concurrency", "cap", "unique", "unique_for", "debounce", "throttle", "expiry"),
        "refused expiry",
    ),
    "option": ("none", "limited", "paused", "timeout", "max_duration"),
    "end": ("success", "fails once", "fails"),
    "meddling": ("none", "none", "cancel", "retry", "flow", "retryFlow"),
}
"""What can be combined."""


def pairs(chance: random.Random) -> Iterator[dict[str, str]]:
    """Yield combinations without end; all pairs of two features come before any of them comes again."""
    every = [
        {one: first, other: second}
        for one, other in combinations(FEATURES, 2)
        for first, second in product(FEATURES[one], FEATURES[other])
    ]
    while True:
        for pair in chance.sample(every, len(every)):
            yield {name: chance.choice(values) for name, values in FEATURES.items()} | pair


@dataclass
class JointClient(Client):
    """Asks whichever node it finds for runs and flows of every combination, and meddles with them.

    Attributes:
        chance: Chooses.
        prunes: Whether it has the history of what has ended pruned, too.
        meant: How each run that was acknowledged may end.
        todo: What has to be asked until somebody answers.
        done: How many combinations were acknowledged.
    """

    chance: random.Random = field(default_factory=random.Random)
    prunes: bool = False
    meant: dict[int, Meant] = field(default_factory=dict[int, Meant])
    todo: deque[Callable[[], object]] = field(default_factory=deque[Callable[[], object]])
    done: int = 0

    def __post_init__(self) -> None:
        self._combinations = pairs(self.chance)
        self._recent: deque[int] = deque(maxlen=50)
        self._flows: deque[int] = deque(maxlen=10)

    def _turn(self, number: int) -> None:
        combinations = [next(self._combinations) for _ in range(EACH)]
        for kind in ("flow", "retryFlow"):
            chosen = [one for one in combinations if one["meddling"] == kind]
            if chosen:
                self._ask_flow_of(chosen, number)
        alone = [one for one in combinations if one["meddling"] not in ("flow", "retryFlow")]
        if alone:
            self._ask_runs(alone)
        self._meddle(combinations)
        for run_id in list(self.unsent)[:2]:
            self._signal(run_id)
        if self.todo and self.todo[0]() is not None:
            self.todo.popleft()

    def _has_sent_all(self) -> bool:
        self.todo.append(lambda: self._group(RESUME, "resumeGroup"))
        while self.todo and self.todo[0]() is not None:
            self.todo.popleft()
        return not self.todo and super()._has_sent_all()

    def _ask_runs(self, chosen: Sequence[dict[str, str]]) -> None:
        asked = [asked_of(one, self.chance) for one in chosen]
        found: list[tuple[int, bool]] = []

        def read(data: dict[str, Any]) -> int:
            runs = data["enqueueRuns"]["runs"]
            found.extend((int(run["id"]), run["isDeduplicated"]) for run in runs)
            return len(runs) or 1

        if self._asked(ENQUEUE, {"runs": asked}, read) is None:
            return
        for one, (run_id, deduplicated) in zip(chosen, found, strict=False):
            self.done += 1
            self._recent.append(run_id)
            meant = meant_by(one)
            # What stands for several enqueues may do as any of them says.
            self.meant[run_id] = self.meant[run_id] | meant if run_id in self.meant else meant
            if deduplicated and run_id not in self.promised.values():
                self.meant[run_id] = self.meant[run_id] | Meant.anything()
            self.promised[f"{run_id}"] = run_id
            if one["act"] == "signal":
                self.unsent.setdefault(run_id, f"signal-{run_id}")

    def _ask_flow_of(self, chosen: Sequence[dict[str, str]], number: int) -> None:
        runs: list[dict[str, Any]] = []
        for place, one in enumerate(chosen):
            after = [] if not place else [f"run-{place - 1}"]
            when = "SUCCESS" if not place else self.chance.choice(["SUCCESS", "FAILURE", "ALWAYS"])
            runs.append({**asked_of(one, self.chance), "key": f"run-{place}", "after": after, "when": when})
        follow = {"jobName": self.chance.choice(["joint_told", "joint_full"]), "retries": 50, "retryDelay": 0.2}
        on = self.chance.choice(["onSuccess", "onFailure", "onEnd"])

        def read(data: dict[str, Any]) -> int:
            flow = data["enqueueFlow"]["flow"]
            for run in flow["runs"]["nodes"]:
                self.promised[run["id"]] = int(run["id"])
                self.meant[int(run["id"])] = Meant.anything()
            return int(flow["id"])

        made = self._asked(ENQUEUE_FLOW, {"input": {"name": f"joint {number}", "runs": runs, on: follow}}, read)
        if made is not None:
            self.done += len(chosen)
            self._flows.append(made)

    def _meddle(self, chosen: Sequence[dict[str, str]]) -> None:
        kinds = {one["meddling"] for one in chosen}
        if "cancel" in kinds and self._recent:
            run_id = self.chance.choice(self._recent)
            self.meant[run_id] = self.meant[run_id] | Meant(frozenset({"cancelled"}))
            self._asked(CANCEL, {"input": {"id": str(run_id)}}, lambda data: len(data["cancelRun"]["errors"]))
        if "retry" in kinds and self._recent:
            self._retry(self.chance.choice(self._recent))
        if "retryFlow" in kinds and self._flows:
            asked = {"input": {"id": str(self.chance.choice(self._flows))}}
            self._asked(RETRY_FLOW, asked, lambda data: len(data["retryFlow"]["errors"]))
        if any(one["option"] == "paused" for one in chosen):
            self._group(PAUSE, "pauseGroup")
            self.todo.append(lambda: self._group(RESUME, "resumeGroup"))
        if self.chance.random() < 0.2:
            asked = {"input": {"name": REPLACING}}
            self._asked(TRIGGER_TASK, asked, lambda data: len(data["triggerTask"]["errors"]))
        if self.prunes and self.chance.random() < 0.3:
            self._asked(PRUNE, {"input": {"maxAgeDays": A_MOMENT}}, lambda data: len(data["pruneHistory"]["errors"]))

    def _retry(self, run_id: int) -> None:
        """Have a run done again if it has ended; the new one may end as the old one."""

        def read(data: dict[str, Any]) -> int:
            again = data["retryRun"]["run"]
            if again is not None:
                self.meant[int(again["id"])] = self.meant[run_id] | Meant.anything()
                self.promised[again["id"]] = int(again["id"])
            return 1

        self._asked(RETRY, {"input": {"id": str(run_id)}}, read)

    def _group(self, query: str, name: str) -> int | None:
        return self._asked(query, {"input": {"name": PAUSED}}, lambda data: len(data[name]["errors"]))

    def _signal(self, run_id: int) -> None:
        """Send a signal; a run that has ended or is pruned needs none."""
        payload = self.unsent[run_id]
        asked = {"input": {"run": {"id": str(run_id)}, "name": "go", "payload": payload, "idempotencyKey": payload}}
        if self._asked(SIGNAL, asked, lambda data: len(data["signalRun"]["errors"])) is not None:
            del self.unsent[run_id]


def asked_of(one: dict[str, str], chance: random.Random) -> dict[str, Any]:
    """Return the request for a run of a combination."""
    before, after = chance.choice([[], ["step"], ["act"]]), chance.choice([[], ["step"], ["sleep"]])
    args = {
        "acts": [*before, one["act"], *after],
        "lane": chance.choice(LANES),
        "fails": {"success": 0, "fails once": 1, "fails": FEW if one["hold"] in KEYED else ALWAYS}[one["end"]],
    }
    retries = 1 if one["end"] == "fails" or one["act"] == "overrun" else 50
    options: dict[str, dict[str, Any]] = {
        "none": {},
        "limited": {"group": LIMITED},
        "paused": {"group": PAUSED},
        "timeout": {"timeout": 0.5},
        "max_duration": {"maxDuration": 3.0},
    }
    more = options[one["option"]] | ({"timeout": 0.3} if one["act"] == "overrun" else {})
    name = f"joint {one['isolation']}, {one['hold']}"
    return {"jobName": name, "args": args, "retries": retries, "retryDelay": 0.2, **more}


def meant_by(one: dict[str, str]) -> Meant:
    """Return how a run of a combination may end."""
    fails = one["end"] == "fails" or one["act"] == "overrun" or one["option"] in ("timeout", "max_duration")
    # What overruns its time box in a thread leaves cleanly, and succeeds.
    always = one["end"] == "fails" and one["hold"] not in KEYED
    states = {"failed"} if always else {"success"}
    states |= {"failed"} if fails else set()
    drops = one["hold"] in ("cap", "expiry", "refused expiry")
    return Meant(frozenset(states | ({"skipped"} if drops else set())))
