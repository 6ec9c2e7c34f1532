"""One execution and one serialisation for all subscribers with equal document, variables and rights.

A hundred open dashboards ask for the same events; executing the subscription once for all of them makes an event cost
nearly the same for one as for a hundred. Only fields named in a ``SharePolicy`` are shared. A subscriber that resumes
after a cursor, or whose queue has overflowed, first runs an execution of its own from that cursor, and joins the others
when that yields an event which they have got too: nothing is missed and nothing comes twice. Without a cursor to resume
from, a subscriber that has overflowed catches up by an execution of its own, see ``SharedField.catch_up``.
"""

from collections import deque
from collections.abc import AsyncGenerator, Callable, Hashable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final

from ..base.errors import UserFacingError
from ..execution.executor import EventBounds
from ..guard.document import Prepared, RequestRefused
from .bounds import Clients
from .engine import Engine
from .members import Audience, Encoded, Member, SharedExecution
from .share_key import SharePlan, SharePolicy, plan_of

RECENT: Final = 100
"""Cursors of one's own execution that are remembered to find the meeting place."""

MEETING_SECONDS: Final = 0.25
"""How long one's own execution waits for the shared one before it looks at the next answer."""

BoundsOf = Callable[[Clients], EventBounds | None]
"""The bounds of each event for those who read it."""


def unbounded(_clients: Clients) -> None:
    """No event has any."""


EventId = Callable[[Mapping[str, Any]], str | None]


class SharedStreams:
    """Runs subscriptions, those of equal subscribers once."""

    def __init__(self, engine: Engine, event_id: EventId, policy: SharePolicy | None) -> None:
        """Start without executions.

        Args:
            engine: Runs the operations.
            event_id: The cursor of an answer.
            policy: What may be shared; None = nothing.
        """
        self._engine = engine
        self._event_id = event_id
        self._policy = policy
        self._executions: dict[Hashable, SharedExecution] = {}

    def __len__(self) -> int:
        return len(self._executions)

    def stream(
        self,
        prepared: Prepared,
        context: Any,  # noqa: ANN401
        client: str = "",
        bounds_of: BoundsOf = unbounded,
    ) -> AsyncGenerator[Encoded, None]:
        """The answers of a subscription.

        Raises:
            RequestRefused: while iterating: the source of events could not be opened, or the reader fell behind and the
                operation has no way to resume or to catch up (``SLOW_READER``).
        """
        plan = plan_of(self._policy, prepared, context) if self._policy else None
        reader = Reader(context, client, bounds_of)
        return self._by_itself(prepared, reader) if plan is None else self._together(plan, reader)

    async def _by_itself(self, prepared: Prepared, reader: "Reader") -> AsyncGenerator[Encoded, None]:
        async with aclosing(self._engine.stream(prepared, reader.context, reader.bounds)) as answers:
            async for answer in answers:
                yield Encoded(self._engine.encode(answer), self._event_id(answer))

    async def _together(self, plan: SharePlan, reader: "Reader") -> AsyncGenerator[Encoded, None]:
        cursor, finished = plan.after, False
        while not finished:
            member = Member(self._engine.limits, reader.client)
            execution = self._join(plan, member, reader)
            turn = Turn(member)
            try:
                async with aclosing(self._turn(turn, plan, cursor, reader)) as answers:
                    async for answer in answers:
                        cursor = answer.cursor or cursor
                        yield answer
            finally:
                await self._leave(plan.key, execution, member)
            finished = turn.finished
            if not finished and (cursor is None or plan.resume_variable is None):
                break
        if not finished:
            async with aclosing(self._catching_up(plan, reader)) as answers:
                async for answer in answers:
                    yield answer

    def _catching_up(self, plan: SharePlan, reader: "Reader") -> AsyncGenerator[Encoded, None]:
        """One's own execution, after what the reader missed; its source waits for the reader and bounds what waits.

        Raises:
            RequestRefused: the field does not know how to make good what was missed.
        """
        if plan.catch_up is None:
            raise RequestRefused([_too_slow(self._engine.limits.queue_events)])
        behind = replace(reader, context=plan.catch_up(reader.context))
        return self._by_itself(plan.after_cursor(None), behind)

    async def _turn(
        self,
        turn: "Turn",
        plan: SharePlan,
        cursor: str | None,
        reader: "Reader",
    ) -> AsyncGenerator[Encoded, None]:
        """Answers until the stream ends (``turn.finished``) or the member has overflowed."""
        member = turn.member
        if cursor is not None:
            meeting = Meeting(member)
            async with aclosing(self._by_itself(plan.after_cursor(cursor), reader)) as missed:
                async for answer in missed:
                    yield answer
                    if await meeting.at(answer.cursor) or member.overflowed:
                        break
            if not meeting.met:
                turn.finished = not member.overflowed
                return
        async with aclosing(member.answers()) as answers:
            async for answer in answers:
                yield answer
        turn.finished = not member.overflowed

    def _join(self, plan: SharePlan, member: Member, reader: "Reader") -> SharedExecution:
        execution = self._executions.get(plan.key)
        if execution is None:
            audience = Audience()
            answers = self._by_itself(plan.after_cursor(None), replace(reader, audience=audience))
            execution = SharedExecution(answers, audience, lambda: self._forget(plan.key, execution))
            self._executions[plan.key] = execution
        execution.add(member)
        return execution

    async def _leave(self, key: Hashable, execution: SharedExecution, member: Member) -> None:
        execution.remove(member)
        if len(execution) == 0:
            self._forget(key, execution)
            await execution.stop()

    def _forget(self, key: Hashable, execution: SharedExecution | None) -> None:
        """Forget an execution, unless another one has taken its place."""
        if self._executions.get(key) is execution:
            del self._executions[key]


@dataclass(frozen=True, slots=True)
class Reader:
    """Who subscribes.

    Attributes:
        context: Of the operation.
        client: Whose it is.
        bounds_of: The bounds of each event for those who read it.
        audience: Those who read what is executed; None = this one alone.
    """

    context: Any
    client: str
    bounds_of: BoundsOf
    audience: Audience | None = None

    @property
    def bounds(self) -> EventBounds | None:
        """Of each event."""
        alone = (self.client,)
        return self.bounds_of((lambda: alone) if self.audience is None else self.audience.clients)


class Turn:
    """What one turn of a subscriber came to.

    Attributes:
        member: Its place in the shared execution.
        finished: Whether the stream has ended; it has overflowed otherwise.
    """

    def __init__(self, member: Member) -> None:
        self.member = member
        self.finished = False


class Meeting:
    """Finds the place where an execution of one's own has yielded the same answers as the shared one.

    Attributes:
        met: Whether it has been found; the member goes on right behind it.
    """

    def __init__(self, member: Member) -> None:
        self.met = False
        self._member = member
        self._recent: deque[str] = deque(maxlen=RECENT)

    async def at(self, cursor: str | None) -> bool:
        """Look again, after one's own execution has yielded the answer at ``cursor``."""
        if cursor is None:
            return False
        first = self._member.first
        # Where the shared one is behind, it has begun with something that is known here, and soon comes to `cursor`.
        behind = first is not None and first.cursor in self._recent
        self.met = self._member.skip_through(cursor) or (behind and await self._member.reach(cursor, MEETING_SECONDS))
        self._recent.append(cursor)
        return self.met


def _too_slow(events: int) -> UserFacingError:
    message = (
        f"This reader is too slow: more than {events:,} events were waiting for it. Query again, then subscribe again."
    )
    return UserFacingError(message, code="SLOW_READER")
