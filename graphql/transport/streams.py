"""The open WebSockets and event streams of this process: how many each caller has, and how they end at shutdown.

An open stream would keep the HTTP server from stopping; ``shutdown`` ends them all. Each caller has a share, so that
nobody closes the streams of everybody. Sockets that have not said yet who opens them have a small pool of their own:
when it is full, the address with the most of them loses its oldest one, so a caller that floods it is in its own way.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from ..base.errors import UserFacingError
from ..guard.limits import Limits

DEFAULT: Final = Limits()


@dataclass(eq=False, slots=True)
class Place:
    """An open stream.

    Attributes:
        stop: Asks it to end because the server stops; called at most once.
        make_room: Asks it to end because others arrive.
        client: Whose it is, once that is known.
    """

    stop: Callable[[], None]
    address: str = ""
    make_room: Callable[[UserFacingError], None] = lambda _: None
    client: str | None = None


class OpenStreams:
    """Counts streams and ends them."""

    def __init__(self, limits: Limits = DEFAULT) -> None:
        """Start empty; see ``open_streams``, ``client_streams`` and ``unready_sockets`` of the limits."""
        self._limits = limits
        self._places: set[Place] = set()
        # In the order of their arrival.
        self._unready: dict[Place, None] = {}
        self._of_client: Counter[str] = Counter()
        self._closing = False
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        return len(self._places)

    @property
    def closing(self) -> bool:
        """Return whether ``shutdown`` has begun: no stream opens any more."""
        return self._closing

    @property
    def unready(self) -> int:
        """Return how many sockets have not been identified yet."""
        return len(self._unready)

    def check(self, client: str | None = None) -> None:
        """Refuse one stream too many.

        Args:
            client: Whose it would be; None = that is not known yet.

        Raises:
            UserFacingError: ``SHUTTING_DOWN`` or ``LIMIT_OPEN_STREAMS``, HTTP 503; ``LIMIT_CLIENT_STREAMS``, HTTP 429.
        """
        if self._closing:
            raise UserFacingError("The server is shutting down; connect again.", code="SHUTTING_DOWN", http_status=503)
        known = self._of_client.total()
        if known >= self._limits.open_streams:
            raise _limit("open_streams", self._limits.open_streams, known, "Too many open streams", 503)
        if client is not None and self._of_client[client] >= self._limits.client_streams:
            what = "You have too many open streams"
            raise _limit("client_streams", self._limits.client_streams, self._of_client[client], what, 429)

    @contextmanager
    def opened(self, client: str, stop: Callable[[], None]) -> Generator[None]:
        """Count a stream of a client while the block runs.

        Raises:
            UserFacingError: see ``check``.
        """
        self.check(client)
        place = Place(stop)
        with self._kept(place):
            self._belongs(place, client)
            yield

    @contextmanager
    def arrived(self, place: Place) -> Generator[None]:
        """Count a socket while the block runs; until ``belongs`` says whose it is, it may have to make room.

        Raises:
            UserFacingError: see ``check``.
        """
        self.check()
        if len(self._unready) >= self._limits.unready_sockets:
            self._make_room()
        self._unready[place] = None
        with self._kept(place):
            yield

    def belongs(self, place: Place, client: str) -> None:
        """Count a socket as a stream of a client from now on.

        Raises:
            UserFacingError: see ``check``.
        """
        self.check(client)
        self._unready.pop(place, None)
        self._belongs(place, client)

    def _belongs(self, place: Place, client: str) -> None:
        place.client = client
        self._of_client[client] += 1

    def _make_room(self) -> None:
        counts = Counter(place.address for place in self._unready)
        ((most, _),) = counts.most_common(1)
        oldest = next(place for place in self._unready if place.address == most)
        del self._unready[oldest]
        what = "Too many sockets have not sent connection_init yet, most of them from your address"
        maximum = self._limits.unready_sockets
        oldest.make_room(_limit("unready_sockets", maximum, maximum, what, 503))

    @contextmanager
    def _kept(self, place: Place) -> Generator[None]:
        self._places.add(place)
        self._empty.clear()
        try:
            yield
        finally:
            self._places.remove(place)
            self._unready.pop(place, None)
            if place.client is not None:
                self._of_client[place.client] -= 1
                if not self._of_client[place.client]:
                    del self._of_client[place.client]
            if not self._places:
                self._empty.set()

    async def shutdown(self, seconds: float = 5.0) -> int:
        """End every stream and refuse new ones; may be called again.

        Args:
            seconds: How long to wait for the streams to be gone.

        Returns:
            How many streams were still there afterwards (readers that had stalled).
        """
        self._closing = True
        for place in list(self._places):
            place.stop()
        try:
            async with asyncio.timeout(seconds):
                await self._empty.wait()
        except TimeoutError:
            return len(self._places)
        return 0


def _limit(limit: str, maximum: int, open_now: int, what: str, status: int) -> UserFacingError:
    message = f"{what}: the limit is {maximum:,}; try again later."
    if limit == "client_streams":
        message = f"{what}: the limit is {maximum:,}; end others first."
    extensions = {"limit": limit, "maximum": maximum, "requested": open_now + 1}
    return UserFacingError(message, code=f"LIMIT_{limit.upper()}", http_status=status, extensions=extensions)
