"""A node reads the lines that code without a server has left in the folders of its attempts, and answers there."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from typing_extensions import override

from ...core.outcome import Failed
from ...core.remote import REMOTE_PROCESS
from ...own.threads import in_own_thread
from ...queue import remote
from ...queue.remote import Refusal
from ...store.db.database import Database
from ..base.service import Watch
from ..process.wire import FrameError
from .contract import RemoteContract, Said, document_of
from .folder import Box, News

log = logging.getLogger(__name__)

_SHORTEST: Final = 0.05
"""Seconds until it is looked again into a box in which something was."""
_A_SECOND: Final = 1_000
"""Silent boxes into which it is looked in a second, at most."""
_AT_ONCE: Final = 8
"""Boxes whose messages are stored at a time."""


@dataclass(slots=True, eq=False)
class _Open:
    """A box that is looked into.

    Attributes:
        execution_id: The execution of its attempt.
        due: When to look into it, by the event loop's clock.
        pause: Seconds until the look after that.
        begun: Its code has begun.
        said: The last answer to it; None: not known to this node.
        reading: Held while its messages are stored.
    """

    execution_id: int
    token_hash: str
    box: Box
    due: float = 0.0
    pause: float = _SHORTEST
    begun: bool = False
    said: Said | None = None
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)


class Outboxes(Watch):
    """Reads the boxes of one executor's attempts: often those in which something is, each other one with every poll.

    Args:
        database: Where signs of life are stored.
        contract: Carries out the lines read.
        poll: Seconds between two looks into a silent box.
        on_broken: Called with an execution and the end that it gets because its box cannot be read.
    """

    def __init__(
        self,
        name: str,
        database: Database,
        contract: RemoteContract,
        poll: float,
        on_broken: Callable[[int, Failed], None],
    ) -> None:
        super().__init__(f"outboxes of {name}", poll=poll)
        self._database = database
        self._contract = contract
        self._longest = poll
        self._on_broken = on_broken
        self._open: dict[int, _Open] = {}
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._timer: asyncio.TimerHandle | None = None

    async def place(self, token_hash: str, folder: Path) -> Refusal | str | None:
        """Leave the input of code in a folder; return why that is not possible, or None."""
        start = await self._contract.prepare(token_hash)
        if isinstance(start, Refusal | str):
            return start
        await in_own_thread(Box(folder).place, start)
        return None

    def open(self, execution_id: int, token_hash: str, folder: Path, *, begun: bool) -> None:
        """Open the box of an attempt, to be read from now on; ``begun``: its code has begun."""
        self._open[execution_id] = _Open(execution_id, token_hash, Box(folder), begun=begun)
        self.poke()

    def close(self, execution_id: int) -> None:
        """Close the box of an attempt: it is read no more."""
        self._open.pop(execution_id, None)

    async def tell(self, execution_id: int) -> None:
        """Write into the box of an attempt the values stored for it: its last answer, and whether to stop."""
        one = self._open.get(execution_id)
        if one is not None:
            async with one.reading:
                await self._tell(one)

    async def _tell(self, one: _Open) -> None:
        said = await self._contract.last(one.token_hash)
        if isinstance(said, Said):
            await self._answer(one, said)

    async def _answer(self, one: _Open, said: Said) -> None:
        if said.sequence or said.stop is not None:
            await in_own_thread(one.box.answer, said.sequence, said.answer, said.stop)
        one.said = said

    async def catch_up(self, execution_id: int) -> bool:
        """Store all that is in the box of an attempt; return whether nothing was there.

        Raises:
            OSError: nobody knows, because it cannot be read.
        """
        one = self._open.get(execution_id)
        return one is None or not await self._read(one)

    @override
    async def look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        # Who reads a box at the moment takes what is new there.
        due = [one for one in self._open.values() if one.due <= now and not one.reading.locked()]
        for one in due:
            await one.reading.acquire()
        try:
            news = await in_own_thread(_skimmed, due)
        finally:
            for one in due:
                one.reading.release()
        full = [one for one, new in zip(due, news, strict=True) if new is News.LINES]
        read = await asyncio.gather(*(self._in_turn(one) for one in full))
        busy = {one.execution_id for one, found in zip(full, read, strict=True) if found}
        now, longest = loop.time(), max(self._longest, len(self._open) / _A_SECOND)
        for one in due:
            one.pause = _SHORTEST if one.execution_id in busy else min(one.pause * 2, longest)
            one.due = now + one.pause
        heard = [one.execution_id for one, new in zip(due, news, strict=True) if new is News.SIGNS]
        heard += busy
        if heard:
            await self._database.write(remote.note_lives, heard)
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop, due = asyncio.get_running_loop(), min((one.due for one in self._open.values()), default=None)
        self._timer = None if due is None else loop.call_later(max(0.0, due - loop.time()), self.poke)

    async def _in_turn(self, one: _Open) -> bool:
        async with self._turns:
            try:
                return await self._read(one)
            except OSError as error:
                log.warning("the box of execution %d cannot be read, again soon: %s", one.execution_id, error)
                return False

    async def _read(self, one: _Open) -> bool:
        """Carry out the messages in a box; return whether there were any."""
        found = False
        async with one.reading:
            if one.said is None:
                said = await self._contract.last(one.token_hash)
                one.said = said if isinstance(said, Said) else None
            while one.execution_id in self._open and (lines := await in_own_thread(one.box.lines)):
                found = True
                for line in lines:
                    if line and not await self._carry_out(one, line):
                        self.close(one.execution_id)
                        break
                    one.box.taken(line)
        return found

    async def _carry_out(self, one: _Open, line: bytes) -> bool:
        """Store a line and answer it; False: the attempt is over."""
        try:
            if _is_known(one, document_of(line)):
                return True
            said = await self._contract.read(one.token_hash, line)
        except FrameError as error:
            self._on_broken(one.execution_id, Failed(REMOTE_PROCESS, f"its messages cannot be read: {error}"))
            return False
        match said:
            case Refusal.SAID_BEFORE:
                return True
            case Refusal.UNKNOWN | Refusal.OVER:
                return False
            case Refusal():
                words = "another process has begun it" if said is Refusal.TAKEN else "one of them is missing"
                self._on_broken(one.execution_id, Failed(REMOTE_PROCESS, f"its messages cannot be read: {words}"))
                return False
            case Said():
                one.begun = True
                if said.answer is not None or said.stop != (one.said.stop if one.said else None):
                    await self._answer(one, said)
                return True


def _is_known(one: _Open, document: Mapping[str, object]) -> bool:
    """Return whether another node has stored a line; the last one is answered again, its answer may not be written."""
    sequence = document.get("sequence")
    if isinstance(sequence, int):
        return one.said is not None and sequence < one.said.sequence
    return one.begun and "starter" in document


def _skimmed(boxes: Sequence[_Open]) -> list[News]:
    return [_skim(one) for one in boxes]


def _skim(one: _Open) -> News:
    try:
        return one.box.skim()
    except OSError:
        # The reader says so.
        return News.LINES
