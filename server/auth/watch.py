"""Ends open streams whose owner has lost what opened them: the session, the token, the role or the account."""

import logging
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager
from typing import Final

from typing_extensions import override

from ...graphql.base.errors import UserFacingError
from ...graphql.resolving.context import Context
from ...jobs.accounts.rules.sessions import Identity
from ...jobs.runtime.base.service import Watch
from ...jobs.store.db.database import SQLAlchemyError
from ...jobs.store.db.transaction import Wake
from .authenticator import unauthenticated

log = logging.getLogger("cronograph.sign_in")

EVERY: Final = 0.5
"""Seconds between two looks while streams are open, where nobody says that a right may be lost."""

StillGood = Callable[[Collection[Identity]], Awaitable[set[Identity]]]
Lost = Callable[[UserFacingError], None]


class RightsWatch(Watch):
    """Knows the streams that are open, and looks whether their owners still may read: when notified, and now and then.

    One statement for all streams of this node: it costs the same however many dashboards are open.
    """

    def __init__(self, still_good: StillGood, every: float = EVERY) -> None:
        """Start without streams.

        Args:
            still_good: Which of some identities may do what they could before.
            every: Seconds between two looks.
        """
        super().__init__("rights-watch", hints=Wake.RIGHTS, poll=every, should_poll=lambda: bool(self._open))
        self._still_good = still_good
        self._open: dict[object, tuple[Identity, Lost]] = {}

    @contextmanager
    def watching(self, context: object, _connection: object, lost: Lost) -> Generator[None]:
        """Watch a stream while the block runs.

        Args:
            context: Of the operation or the socket.
            _connection: What shows the credential; the context knows whose it is.
            lost: Called once, when its owner has lost the right to it.
        """
        identity = context.person.identity if isinstance(context, Context) else None
        if identity is None:
            yield
            return
        key = object()
        self._open[key] = (identity, lost)
        try:
            yield
        finally:
            self._open.pop(key, None)

    @override
    async def look(self) -> None:
        """End the streams whose owners have lost their rights."""
        seen = list(self._open.items())
        if not seen:
            return
        try:
            good = await self._still_good({identity for _, (identity, _) in seen})
        except SQLAlchemyError as error:
            # Without a database no stream has anything to tell either.
            log.warning("cannot see whether the readers of open streams still may read: %s", error)
            return
        for key, (identity, lost) in seen:
            if identity not in good and self._open.pop(key, None) is not None:
                lost(unauthenticated("The sign-in has ended or its rights have changed; sign in and connect again."))
