"""A client that puts runs into the queue all the time, and remembers what it was promised."""

import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias

import httpx

from tests.chaos.cluster import Cluster
from tests.support.web import post

ENQUEUE = """
mutation ($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { runs { id } errors { message } } }
"""
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
    """

    cluster: Cluster
    job: str = "work"
    args: Sequence[Mapping[str, Any]] = ({},)
    pace: float = PACE
    promised: dict[str, int] = field(default_factory=dict[str, int])
    refused: int = 0

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

    def _work(self) -> None:
        number = 0
        while not self._over.wait(self.pace):
            number += 1
            self._ask(f"promise-{number}", self.args[number % len(self.args)])

    def _ask(self, key: str, args: Mapping[str, Any]) -> None:
        nodes = list(self.cluster.nodes.values())
        run = {"jobName": self.job, "args": args, "uniqueKey": key, "retries": 50, "retryDelay": 0.2}
        try:
            url = f"{random.choice(nodes).url}/graphql"
            answer = post(url, {"query": ENQUEUE, "variables": {"runs": [run]}}, timeout=5)
            body: dict[str, Any] = answer.json()
            self.promised[key] = int(body["data"]["enqueueRuns"]["runs"][0]["id"])
        except (httpx.HTTPError, LookupError, TypeError, ValueError):
            # No node, no answer, a refusal, or one that is no GraphQL: none of them is a promise.
            self.refused += 1
