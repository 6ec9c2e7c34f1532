"""A client that enqueues flows of every shape, and remembers how each of their runs has to end."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.client import SIGNAL, Client

ENQUEUE_FLOW = """
mutation ($input: EnqueueFlowInput!) {
  enqueueFlow(input: $input) {
    flow { id runs(first: 5) { nodes { id jobName } } }
    errors { message }
  }
}
"""
ADD_RUNS = "mutation ($input: AddFlowRunsInput!) { addFlowRuns(input: $input) { flow { id } errors { message } } }"
CLOSE = "mutation ($input: CloseFlowInput!) { closeFlow(input: $input) { flow { id } errors { message } } }"
FAN_IN = 150
"""Runs before one that comes after all of them."""
FAN_IN_EVERY = 12
"""Of the flows one in so many is that wide: one costs as much as all others."""


def member(key: str, job: str, *after: str, when: str = "SUCCESS", **args: object) -> dict[str, Any]:
    """A run of a flow that outlives every kill of its nodes."""
    tries = {"retries": 0} if job == "fails" else {"retries": 50, "retryDelay": 0.2}
    return {"key": key, "jobName": job, "args": args, "after": after, "when": when, **tries}


@dataclass
class FlowClient(Client):
    """Asks whichever node it finds, for one flow in each turn.

    Attributes:
        todo: What has to be asked until somebody acknowledges it, one after the other: what repeats changes nothing.
    """

    todo: deque[Callable[[], object]] = field(default_factory=deque[Callable[[], object]])

    def _turn(self, number: int) -> None:
        if number % FAN_IN_EVERY == 1:
            self._ask_fan_in(number)
        else:
            kinds = (self._ask_diamond, self._ask_failing, self._ask_open, self._ask_collecting, self._ask_parent)
            kinds[number % len(kinds)](number)
        self._do_next()

    def _do_next(self) -> None:
        if self.todo and self.todo[0]() is not None:
            self.todo.popleft()

    def _has_sent_all(self) -> bool:
        for _ in range(len(self.todo)):
            self._do_next()
        return not self.todo

    def _ask_diamond(self, number: int) -> None:
        runs = (
            member("a", "stepping"),
            member("b", "stepping", "a"),
            member("c", "brings", "a", value=5),
            member("d", "brings", "b", "c", value={"$result": "c"}),
        )
        self._enqueue(f"diamond {number}", runs, dict.fromkeys("abcd", "success"))

    def _ask_fan_in(self, number: int) -> None:
        keys = [f"part-{part}" for part in range(FAN_IN)]
        runs = [member(key, "brings", value=part) for part, key in enumerate(keys)]
        runs += [
            member("sum", "brings", *keys, value={"$result": keys[-1]}),
            member("none", "brings", *keys, when="FAILURE", value=0),
        ]
        states = {**dict.fromkeys((*keys, "sum"), "success"), "none": "skipped"}
        self._enqueue(f"fan-in {number}", runs, states)

    def _ask_failing(self, number: int) -> None:
        runs = (
            member("a", "fails"),
            member("b", "brings", value=1),
            member("c", "brings", "a", "b", value=2),
            member("d", "brings", "c", value=3),
            member("alarm", "brings", "a", "b", when="FAILURE", value=4),
            member("always", "brings", "d", "alarm", when="ALWAYS", value=5),
        )
        states = {"a": "failed", "b": "success", "c": "skipped", "d": "skipped", "alarm": "success"}
        self._enqueue(f"failing {number}", runs, {**states, "always": "success"})

    def _ask_open(self, number: int) -> None:
        """An open flow, which gets more runs and is closed."""
        found = self._enqueue(f"open {number}", (member("a", "stepping"),), {"a": "success"}, open=True)
        if found is None:
            return
        flow_id = found[0]
        for batch, key in enumerate(("b", "c")):
            added = [member(key, "brings", "a", value=batch), member(f"{key}{key}", "brings", key, value=batch)]
            self._must(ADD_RUNS, "addFlowRuns", {"id": flow_id, "runs": added, "idempotencyKey": f"{key}-{flow_id}"})
        self._must(CLOSE, "closeFlow", {"id": flow_id, "idempotencyKey": f"close-{flow_id}"})
        self.flows[flow_id] = dict.fromkeys(("a", "b", "bb", "c", "cc"), "success")

    def _ask_collecting(self, number: int) -> None:
        """A flow whose first run waits for two signals."""
        runs = (member("a", "collects"), member("b", "brings", "a", value=1))
        found = self._enqueue(f"collecting {number}", runs, dict.fromkeys("ab", "success"))
        if found is None:
            return
        run_id = found[1]["collects"]
        for payload in ("first", "second"):
            key = f"{payload}-{run_id}"
            asked = {"run": {"id": str(run_id)}, "name": "go", "payload": payload, "idempotencyKey": key}
            self._must(SIGNAL, "signalRun", asked)
        self.sent[run_id] = ["first", "second"]

    def _ask_parent(self, number: int) -> None:
        """A flow whose first run waits for runs that it has begun."""
        runs = (member("a", "parent"), member("b", "brings", "a", value=1))
        found = self._enqueue(f"parent {number}", runs, dict.fromkeys("ab", "success"))
        if found is not None:
            self.sent[found[1]["parent"]] = [1, 2, 3, 4]

    def _enqueue(
        self, name: str, runs: Sequence[Mapping[str, Any]], states: Mapping[str, str], **more: object
    ) -> tuple[int, dict[str, int]] | None:
        """The id of a flow that is there now, and the last run of each job among its first ones."""
        found: dict[str, int] = {}

        def read(data: dict[str, Any]) -> int:
            flow = data["enqueueFlow"]["flow"]
            found.update({run["jobName"]: int(run["id"]) for run in flow["runs"]["nodes"]})
            return int(flow["id"])

        flow_id = self._asked(ENQUEUE_FLOW, {"input": {"name": name, "runs": runs, **more}}, read)
        if flow_id is None:
            return None
        self.flows[flow_id] = states
        return flow_id, found

    def _must(self, query: str, name: str, asked: Mapping[str, Any]) -> None:
        """Have a request repeated until it is acknowledged."""

        def read(data: dict[str, Any]) -> int:
            if data[name]["errors"]:
                raise AssertionError(f"{name} of {asked} was refused: {data[name]['errors']}")
            return 1

        self.todo.append(lambda: self._asked(query, {"input": asked}, read))
