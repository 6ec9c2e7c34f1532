"""A client that puts runs into the queue all the time, and remembers what it was promised."""

import random
import threading
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias

import httpx

from tests.chaos.cluster import Cluster
from tests.support.waiting import wait_until
from tests.support.web import post

ENQUEUE = """
mutation ($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { runs { id } errors { message } } }
"""
SIGNAL = """
mutation ($input: SignalRunInput!) { signalRun(input: $input) { run { id } errors { message } } }
"""
WAITS = "waits"
"""A job that waits for one signal and returns what that brings along."""
MOST_SIGNALS = 2
"""So many does a run wait for at the most, one after the other."""
WAITING_EVERY = 4
"""So many of the runs that are asked for are of that job: one of so many."""
ENQUEUE_FLOW = """
mutation ($runs: [FlowRunInput!]!) {
  enqueueFlow(input: { name: "diamond", runs: $runs }) { flow { id } errors { message } }
}
"""
DIAMOND: tuple[tuple[str, list[str]], ...] = (("a", []), ("b", ["a"]), ("c", ["a"]), ("d", ["b", "c"]))
FLOW_EACH = 10
"""After so many runs a flow."""
Asked: TypeAlias = tuple[str, Sequence[Mapping[str, Any]]]
"""A job, and the arguments that it is asked to run with in turn."""
PACE = 0.05
"""Seconds between two requests."""


@dataclass
class Client:
    """Asks whichever node it finds; requests that fail are forgotten: nothing was promised.

    Attributes:
        cluster: Whose nodes it asks.
        job: What it enqueues.
        args: With which arguments, in turn.
        pace: Seconds between two requests.
        promised: The keys of the runs that were acknowledged, by the unique key it gave them.
        refused: How many requests got no acknowledgement.
        unsent: Runs that wait for a signal which is not acknowledged yet, and what it brings along.
        sent: Runs whose signals were acknowledged, and what they are to return.
        flows: The flows that were acknowledged; of each, in which state the run of each key has to end.
    """

    cluster: Cluster
    job: str = "work"
    args: Sequence[Mapping[str, Any]] = ({},)
    pace: float = PACE
    promised: dict[str, int] = field(default_factory=dict[str, int])
    refused: int = 0
    unsent: dict[int, str] = field(default_factory=dict[int, str])
    sent: dict[int, object] = field(default_factory=dict[int, object])
    flows: dict[int, Mapping[str, str]] = field(default_factory=dict[int, Mapping[str, str]])

    @property
    def has_more(self) -> bool:
        """Whether there is something that it has to ask for yet."""
        return False

    def __enter__(self) -> Self:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        wait_until(self._has_sent_all, message="every signal to be acknowledged")

    def _has_sent_all(self) -> bool:
        for run_id in list(self.unsent):
            self._signal(run_id)
        return not self.unsent

    def _work(self) -> None:
        number = 0
        while not self._over.wait(self.pace):
            number += 1
            self._turn(number)

    def _turn(self, number: int) -> None:
        """What it asks for by one request, or some."""
        key = f"promise-{number}"
        waits = number % WAITING_EVERY == 0
        run_id = self._ask(key, WAITS, {}) if waits else self._ask(key, self.job, self.args[number % len(self.args)])
        if waits and run_id is not None:
            self.unsent[run_id] = key
        for waiting in list(self.unsent)[:1]:
            self._signal(waiting)
        if number % FLOW_EACH == 0:
            self._ask_flow(self.args[number % len(self.args)])

    def _ask_flow(self, args: Mapping[str, Any]) -> None:
        """Enqueue a flow; what becomes of it, the rules judge."""
        runs = [
            {"key": key, "jobName": self.job, "args": args, "after": after, "retries": 50, "retryDelay": 0.2}
            for key, after in DIAMOND
        ]
        self._asked(ENQUEUE_FLOW, {"runs": runs}, lambda data: int(data["enqueueFlow"]["flow"]["id"]))

    def _ask(self, key: str, job: str, args: Mapping[str, Any]) -> int | None:
        run = {"jobName": job, "args": args, "uniqueKey": key, "retries": 50, "retryDelay": 0.2}
        made = self._asked(ENQUEUE, {"runs": [run]}, lambda data: int(data["enqueueRuns"]["runs"][0]["id"]))
        if made is not None:
            self.promised[key] = made
        return made

    def _signal(self, run_id: int) -> None:
        """Send a signal until somebody acknowledges it; its key sees to it that it has one effect."""
        payload = self.unsent[run_id]
        run, key = {"id": str(run_id)}, f"signal-{run_id}"
        asked = {"run": run, "name": "go", "payload": payload, "idempotencyKey": key}
        if self._asked(SIGNAL, {"input": asked}, lambda data: int(data["signalRun"]["run"]["id"])) is not None:
            self.sent[run_id] = self.unsent.pop(run_id)

    def signal_unpromised(self, promised: Container[int]) -> None:
        """Let those runs go on that wait for signals of which nobody knows.

        They were enqueued by requests whose answers were lost. As many signals as one of them takes are sent, with
        keys: to send them again changes nothing.
        """
        for run_id in self.cluster.waiting_for_signals():
            if run_id in promised:
                continue
            for turn in range(MOST_SIGNALS):
                key = f"unpromised-{run_id}-{turn}"
                asked = {"run": {"id": str(run_id)}, "name": "go", "payload": key, "idempotencyKey": key}
                self._asked(SIGNAL, {"input": asked}, lambda data: int(data["signalRun"]["run"]["id"]))

    def _asked(self, query: str, variables: Mapping[str, Any], read: Callable[[dict[str, Any]], int]) -> int | None:
        """Return what some node answers; None = nothing was promised."""
        nodes = list(self.cluster.nodes.values())
        try:
            url = f"{random.choice(nodes).url}/graphql"
            answer = post(url, {"query": query, "variables": variables}, timeout=5)
            body: dict[str, Any] = answer.json()
            return read(body["data"])
        except (httpx.HTTPError, LookupError, TypeError, ValueError):
            # No node, no answer, a refusal, or one that is no GraphQL: none of them is a promise.
            self.refused += 1
            return None
