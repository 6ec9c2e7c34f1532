"""One shared execution and the subscribers behind it, each with a bounded queue of its own."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass

from ..base.errors import mask
from ..guard.document import RequestRefused
from ..guard.limits import Limits


@dataclass(frozen=True, slots=True)
class Encoded:
    """One answer, ready to be sent.

    Attributes:
        text: JSON.
        cursor: Its place in the stream, None when it has none.
    """

    text: str
    cursor: str | None


class Member:
    """One subscriber of a shared execution.

    Attributes:
        client: Whose it is.
        overflowed: It fell behind; what is queued is still good, what came later is not there.
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
        """Notify that the execution has ended, or why it never began."""
        self._finished = True
        self._failure = failure
        self._wake.set()

    def skip_through(self, cursor: str | None) -> bool:
        """Drop what is queued up to and including the answer at ``cursor``; False when that is not queued."""
        if cursor is None or not any(answer.cursor == cursor for answer in self._queue):
            return False
        while self._take().cursor != cursor:
            continue
        return True

    @property
    def first(self) -> Encoded | None:
        """The oldest answer queued."""
        return self._queue[0] if self._queue else None

    async def reach(self, cursor: str, seconds: float) -> bool:
        """Wait for the answer at ``cursor`` and drop what is queued up to it; False when it does not come in time."""
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
        """What is queued and what comes, until the execution ends or the queue has overflowed.

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
    """Those who read a shared execution."""

    def __init__(self) -> None:
        self.members: set[Member] = set()

    def clients(self) -> set[str]:
        """Whose they are."""
        return {member.client for member in self.members}


class SharedExecution:
    """Runs one subscription for its members, from the first to the last of them."""

    def __init__(self, answers: AsyncGenerator[Encoded, None], audience: Audience, ended: Callable[[], None]) -> None:
        """Start at once.

        Args:
            answers: The execution.
            audience: Where its members are.
            ended: Called when it has ended by itself, before its members are notified.
        """
        self._members = audience.members
        self._ended = ended
        self._task = asyncio.create_task(self._pump(answers))

    def __len__(self) -> int:
        return len(self._members)

    def add(self, member: Member) -> None:
        """Let a subscriber have every answer from now on."""
        self._members.add(member)

    def remove(self, member: Member) -> None:
        """Let a subscriber go."""
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
