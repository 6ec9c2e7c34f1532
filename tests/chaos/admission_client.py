"""A client whose runs are debounced, limited, or expire, and that remembers which numbers were acknowledged."""

import random
import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx

from tests.chaos.admission_rules import DEBOUNCED
from tests.chaos.cluster import Cluster
from tests.support.web import post

ENQUEUE = """
mutation ($runs: [EnqueueRunInput!]!) { enqueueRuns(input: { runs: $runs }) { runs { id } errors { message } } }
"""
PAGES = 3


@dataclass
class AdmissionClient:
    """Enqueues ever larger numbers of a few pages, and next to each number what may expire and what is limited.

    A page is given up with its first request that is not answered: that may be stored later than the next one.

    Attributes:
        cluster: Whose nodes it asks.
        pace: Seconds between two requests.
        acknowledged: Of each page, which is the unique key, the newest number that was.
    """

    cluster: Cluster
    pace: float
    acknowledged: dict[str, int] = field(default_factory=dict[str, int])

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
        pages = [f"page-{place}" for place in range(PAGES)]
        number = 0
        while not self._over.wait(self.pace):
            number += 1
            place = number % PAGES
            page = pages[place]
            asked = {"jobName": DEBOUNCED, "args": {"page": page, "number": number}}
            others: list[dict[str, Any]] = [
                {"jobName": "short_lived"},
                {"jobName": "one_by_one", "args": {"page": page}},
                {"jobName": "until_the_end", "args": {"page": page}},
            ]
            if self._is_acknowledged([asked]):
                self.acknowledged[f"{DEBOUNCED}-{page}"] = number
            else:
                pages[place] = f"page-{place}-from-{number}"
            self._is_acknowledged(others)

    def _is_acknowledged(self, runs: list[dict[str, Any]]) -> bool:
        nodes = list(self.cluster.nodes.values())
        try:
            answer = post(
                f"{random.choice(nodes).url}/graphql", {"query": ENQUEUE, "variables": {"runs": runs}}, timeout=5
            )
            body: dict[str, Any] = answer.json()
            return bool(body["data"]["enqueueRuns"]["runs"])
        except (httpx.HTTPError, LookupError, TypeError, ValueError):
            # No node, no answer, a refusal, or one that is no GraphQL: none of them is a promise.
            return False
