"""Attempts at engines, as the node that looks after them knows them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...base.context import StopReason
from ...core.remote import UNSEEN, EngineState, QueuePlace, Seen
from ...executors.protocol import Place
from ...queue.claims.claim import Started
from ...queue.remote import AcceptedEnd


@dataclass(slots=True, eq=False)
class Held:
    """An attempt that this node looks after.

    Attributes:
        executor: The name of its executor.
        ended: Its accepted end; None: this node lets it go.
        place: Where it is at its engine; None: it is not submitted yet.
        is_asked: It was asked to stop because its time is over.
        seen: The last report of its engine, as it is stored.
        since: Since when this node looks after it, by the database's time; None: not yet.
        deadline: When its time box is over, or that of its run; None: never, or it is not known yet.
        waits_at: Where it waits at its engine, as it is stored.
    """

    started: Started
    executor: str
    ask: Callable[[StopReason], None]
    ended: "asyncio.Future[AcceptedEnd | None]"
    place: Place | None = None
    is_asked: bool = False
    seen: Seen = UNSEEN
    since: datetime | None = None
    deadline: datetime | None = None
    waits_at: QueuePlace | None = None

    def note_seen(self, seen: Seen) -> None:
        """Note the report of its engine, as it is stored: an attempt that waits no more has no place."""
        self.seen = seen
        if seen.state is not EngineState.PENDING:
            self.waits_at = None

    def note_start(self, at: datetime) -> None:
        """Count its time box from the start of its code."""
        run = self.started.run
        if run.timeout is not None:
            ends = at + timedelta(seconds=run.timeout)
            self.deadline = ends if run.deadline_at is None else min(ends, run.deadline_at)
