"""Sharing: one execution and one serialisation for all subscribers with equal document, variables and rights.

A hundred open dashboards ask for the same events; executing the subscription once for all of them makes an event cost
nearly the same for one as for a hundred. Only fields named in a ``SharePolicy`` are shared. A subscriber that resumes
after a cursor, or whose queue has overflowed, first runs an execution of its own from that cursor, and joins the others
when that yields an event which they have got too: nothing is missed and nothing comes twice. Without a cursor to resume
from, a subscriber that has overflowed catches up by an execution of its own, see ``SharedField.catch_up``.
"""

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable, Hashable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from graphql import (
    ArgumentNode,
    FieldNode,
    NonNullTypeNode,
    NullValueNode,
    OperationDefinitionNode,
    StringValueNode,
    ValueNode,
    VariableNode,
)

from ..base.enums import Role
from ..base.errors import UserFacingError, mask
from ..guard.admission import Clients, EventBounds
from ..guard.document import Prepared, RequestRefused
from ..guard.limits import Limits
from ..resolving.context import Context
from .engine import Engine

RECENT: Final = 100
"""Cursors of one's own execution that are remembered to find the meeting place."""
MEETING_SECONDS: Final = 0.25
"""Seconds for which one's own execution waits for the shared one before it looks at the next answer."""

BoundsOf = Callable[[Clients], EventBounds | None]
"""Returns the admission of each event for those who read it."""

EventId = Callable[[Mapping[str, Any]], str | None]
"""Returns the cursor of an answer."""


def unbounded(_clients: Clients) -> None:
    """Admit every event."""


@dataclass(frozen=True, slots=True)
class SharedField:
    """Describe how one field of the subscription type is shared.

    Attributes:
        resume_argument: The argument that takes a cursor to go on from; None = the field cannot resume. An answer's
            cursor (see ``event_id``) must be one that this argument takes.
        private_arguments: Arguments that make a subscription one's own when they are neither null nor false, such as
            one that asks for a snapshot first.
        catch_up: Returns the context under which the field begins with events that make up for missed ones, for
            a subscriber that fell behind and cannot resume; None = such a subscriber is refused (``SLOW_READER``).
    """

    resume_argument: str | None = None
    private_arguments: frozenset[str] = frozenset()
    catch_up: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class SharePolicy:
    """Name the subscriptions that are shared, and between whom.

    Attributes:
        fields: By name, the fields of the subscription type that may be shared. Each must yield the same events to all
            with equal arguments and rights, whenever they came.
        rights: Returns from a context all that decides which events its owner sees.
    """

    fields: Mapping[str, SharedField]
    rights: Callable[[Any], Hashable]


@dataclass(frozen=True, slots=True)
class SharePlan:
    """The way in which one subscription is shared.

    Attributes:
        key: Equal for all that share an execution.
        prepared: The operation as asked for.
        resume_variable: The variable that holds the cursor; None when the subscription cannot resume.
        after: The cursor asked for.
        catch_up: See ``SharedField``.
    """

    key: Hashable
    prepared: Prepared
    resume_variable: str | None = None
    after: str | None = None
    catch_up: Callable[[Any], Any] | None = None

    def after_cursor(self, cursor: str | None) -> Prepared:
        """Return the operation from another place on; None = from now on."""
        if self.resume_variable is None:
            return self.prepared
        return replace(self.prepared, variables={**self.prepared.variables, self.resume_variable: cursor})


def plan_of(policy: SharePolicy, prepared: Prepared, context: Any) -> SharePlan | None:  # noqa: ANN401
    """Return the way in which a subscription may be shared; None = not at all."""
    root = _only_field(prepared.operation)
    shared = policy.fields.get(root.name.value) if root else None
    if root is None or shared is None:
        return None
    arguments = {argument.name.value: argument for argument in root.arguments or ()}
    if any(_is_set(arguments.get(name), prepared) for name in shared.private_arguments):
        return None
    resume = arguments.get(shared.resume_argument) if shared.resume_argument else None
    variable = resume.value.name.value if resume and isinstance(resume.value, VariableNode) else None
    if variable is None:
        # A cursor in the text cannot be moved on, and null asks for events from now on, as no argument does.
        if _is_set(resume, prepared):
            return None
        return SharePlan(_key(policy, prepared, context, None), prepared, catch_up=shared.catch_up)
    after = _value_of(prepared, variable)
    if not _is_movable(prepared, variable) or not (after is None or isinstance(after, str)):
        return None
    return SharePlan(_key(policy, prepared, context, variable), prepared, variable, after, shared.catch_up)


def _only_field(operation: OperationDefinitionNode) -> FieldNode | None:
    selections = operation.selection_set.selections
    only = selections[0] if len(selections) == 1 else None
    return only if isinstance(only, FieldNode) else None


def _is_set(argument: ArgumentNode | None, prepared: Prepared) -> bool:
    if argument is None:
        return False
    if isinstance(argument.value, VariableNode):
        return _value_of(prepared, argument.value.name.value) not in (None, False)
    return not isinstance(argument.value, NullValueNode) and getattr(argument.value, "value", True) is not False


def _value_of(prepared: Prepared, variable: str) -> object:
    if variable in prepared.variables:
        return prepared.variables[variable]
    for definition in prepared.operation.variable_definitions or ():
        if definition.variable.name.value == variable and definition.default_value is not None:
            return _literal(definition.default_value)
    return None


def _literal(node: ValueNode) -> object:
    """Return a default as far as it matters here: null, a string, or anything else, which is never shared."""
    if isinstance(node, NullValueNode):
        return None
    return node.value if isinstance(node, StringValueNode) else node


def _is_movable(prepared: Prepared, variable: str) -> bool:
    """Return whether the variable may be null and stands in one place only: another value changes nothing else."""
    for definition in prepared.operation.variable_definitions or ():
        if definition.variable.name.value == variable and isinstance(definition.type, NonNullTypeNode):
            return False
    return len(re.findall(rf"\$\s*{variable}\b", prepared.document.text)) == 2


def _key(policy: SharePolicy, prepared: Prepared, context: Any, variable: str | None) -> Hashable:  # noqa: ANN401
    variables = {name: value for name, value in prepared.variables.items() if name != variable}
    written = json.dumps(variables, sort_keys=True)
    return (prepared.document.text, prepared.operation_name, written, policy.rights(context))


@dataclass(frozen=True, slots=True)
class Encoded:
    """An answer, ready to be sent.

    Attributes:
        text: JSON.
        cursor: Its place in the stream, None when it has none.
    """

    text: str
    cursor: str | None


class Member:
    """One subscriber of a shared execution.

    Attributes:
        overflowed: It fell behind: the queued answers are good, later ones are missing.
    """

    def __init__(self, limits: Limits, client: str = "") -> None:
        self.client = client
        self.overflowed = False
        self._limits = limits
        self._queue: deque[Encoded] = deque()
        self._characters = 0
        self._wake = asyncio.Event()
        self._finished = False
        self._failure: RequestRefused | None = None

    def offer(self, answer: Encoded) -> None:
        """Queue an answer; a full queue overflows instead, for this subscriber alone."""
        full = len(self._queue) >= self._limits.queue_events
        large = self._characters + len(answer.text) > self._limits.queue_bytes
        if full or (large and self._queue):
            self.overflowed = True
        if not self.overflowed:
            self._queue.append(answer)
            self._characters += len(answer.text)
        self._wake.set()

    def finish(self, failure: RequestRefused | None) -> None:
        """Note that the execution has ended, or the failure by which it never began."""
        self._finished = True
        self._failure = failure
        self._wake.set()

    def skip_through(self, cursor: str | None) -> bool:
        """Drop the queue up to and including the answer at ``cursor``; return False when that is not queued."""
        if cursor is None or not any(answer.cursor == cursor for answer in self._queue):
            return False
        while self._take().cursor != cursor:
            continue
        return True

    @property
    def first(self) -> Encoded | None:
        """Return the oldest answer queued."""
        return self._queue[0] if self._queue else None

    async def reach(self, cursor: str, seconds: float) -> bool:
        """Wait for the answer at ``cursor`` and drop the queue up to it; return False when it does not come in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.skip_through(cursor):
                    if self._finished or self.overflowed:
                        return False
                    self._wake.clear()
                    await self._wake.wait()
                return True
        return False

    async def answers(self) -> AsyncGenerator[Encoded, None]:
        """Yield the queued answers and the next ones, until the execution ends or the queue has overflowed.

        Raises:
            RequestRefused: the execution could not begin.
        """
        while True:
            while self._queue:
                yield self._take()
            if self._failure:
                raise self._failure
            if self._finished or self.overflowed:
                return
            self._wake.clear()
            await self._wake.wait()

    def _take(self) -> Encoded:
        answer = self._queue.popleft()
        self._characters -= len(answer.text)
        return answer


class Audience:
    """The subscribers of a shared execution."""

    def __init__(self) -> None:
        self.members: set[Member] = set()

    def clients(self) -> set[str]:
        """Return their callers."""
        return {member.client for member in self.members}


class SharedExecution:
    """Runs one subscription for its members, from the first to the last of them."""

    def __init__(self, answers: AsyncGenerator[Encoded, None], audience: Audience, ended: Callable[[], None]) -> None:
        """Start at once.

        Args:
            ended: Called when it has ended by itself, before its members are notified.
        """
        self._members = audience.members
        self._ended = ended
        self._task = asyncio.create_task(self._pump(answers))

    def __len__(self) -> int:
        return len(self._members)

    def add(self, member: Member) -> None:
        """Add a subscriber, who gets every answer from now on."""
        self._members.add(member)

    def remove(self, member: Member) -> None:
        """Remove a subscriber."""
        self._members.discard(member)

    async def stop(self) -> None:
        """End the execution and wait until its source is closed."""
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _pump(self, answers: AsyncGenerator[Encoded, None]) -> None:
        failure: RequestRefused | None = None
        try:
            async with aclosing(answers):
                async for answer in answers:
                    for member in self._members:
                        member.offer(answer)
        except RequestRefused as refused:
            failure = refused
        except Exception as error:  # noqa: BLE001 - masked and logged once for all members
            failure = RequestRefused([mask(error)])
        self._ended()
        for member in self._members:
            member.finish(failure)


class SharedStreams:
    """Runs subscriptions, those of equal subscribers once."""

    def __init__(self, engine: Engine, event_id: EventId, policy: SharePolicy | None) -> None:
        """Start without executions.

        Args:
            event_id: The cursor of an answer.
            policy: The fields that may be shared; None = none.
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
        """Yield the answers of a subscription.

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
        """Run an execution for one reader, after the events it missed; its source waits for the reader.

        Raises:
            RequestRefused: the field cannot make up for missed events.
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
        """Yield answers until the stream ends (``turn.finished``) or the member has overflowed."""
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
    """A subscriber.

    Attributes:
        bounds_of: Returns the admission of each event.
        audience: The subscribers of the execution; None = this one alone.
    """

    context: Any
    client: str
    bounds_of: BoundsOf
    audience: Audience | None = None

    @property
    def bounds(self) -> EventBounds | None:
        """Return the admission of each event."""
        alone = (self.client,)
        return self.bounds_of((lambda: alone) if self.audience is None else self.audience.clients)


class Turn:
    """The outcome of one turn of a subscriber.

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
        """Look for the shared execution again, after this subscriber's own one yielded the answer at ``cursor``."""
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


def rights_of(context: Context) -> Role:
    """Return the role: it alone decides which events a subscriber sees."""
    return context.person.role


SHARED: Final = SharePolicy(
    fields={
        "events": SharedField(resume_argument="after", catch_up=Context.behind),
        "executions": SharedField(private_arguments=frozenset({"snapshot"}), catch_up=Context.behind),
    },
    rights=rights_of,
)
"""For ``graphql_routes(share=SHARED)``. Subscriptions that begin with what is there already cannot be shared."""
