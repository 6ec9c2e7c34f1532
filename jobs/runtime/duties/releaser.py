"""Lets go what was held back, when its token comes or its slot is free."""

import asyncio

from typing_extensions import override

from ...queue.limits.admission import BucketName, is_anything_held, look_for_forgotten, look_for_slots, look_for_tokens
from ...store.db.database import Database
from ...store.db.transaction import Tx
from ..base.change_detector import ChangeDetector
from ..base.service import Watch

_LONGEST = 3600.0


class Releaser(Watch):
    """One per node, whether or not it has free slots; woken by its timer, by what the node holds back, by a slow poll.

    The end of a run lets the next one of its key go by itself. What remains is time, and what others held back.

    Args:
        database: Where the runs are.
        poll: Seconds after which it looks without a hint.
    """

    def __init__(self, database: Database, *, poll: float) -> None:
        super().__init__("releaser", poll=poll, should_poll=ChangeDetector(database).should_poll)
        self._database = database
        self._after = ""
        self._after_bucket = BucketName("", "")
        self._timer: asyncio.TimerHandle | None = None

    async def look(self) -> None:
        """Let go what may go, and set the timer to the next token."""
        self._set_timer(None)
        if not await self._database.read(is_anything_held):
            return
        self._after_bucket = await self._database.write(look_for_forgotten, self._after_bucket)
        self._set_timer(await self._database.write(_seconds_to_next_token))
        self._after = await self._database.write(look_for_slots, self._after)

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(min(max(0.0, seconds), _LONGEST), self.poke)

    @override
    async def stop(self) -> None:
        """End, and wait for the end."""
        await super().stop()
        self._set_timer(None)


def _seconds_to_next_token(tx: Tx) -> float | None:
    at = look_for_tokens(tx)
    return None if at is None else (at - tx.now).total_seconds()
