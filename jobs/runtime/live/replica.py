"""A standby of PostgreSQL that answers reads of the API, each once it has everything that was committed before it."""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from ...core.base.errors import StorageError
from ...store.db.database import Connection, Database, DBAPIError, ReadBounds
from ...store.db.faults import ErrorKind, first_line, kind_of, took_too_long
from ...store.db.transaction import ReplicaState
from ..base.service import Backoff, Watch

T = TypeVar("T")

log = logging.getLogger(__name__)

PATIENCE: Final = 0.25
"""Seconds for which a read waits for the standby to have what the database had when it was asked for."""
EVERY: Final = 1.0
"""Seconds between two looks at the standby."""
ANSWER: Final = 3.0
"""Seconds for which a look waits for an answer; then the standby is out of reach."""
REST: Final = 30.0
"""Seconds at most for which a standby that fails again and again is left alone each time."""
STEADY: Final = 60.0
"""Seconds after which earlier failures are forgotten."""
_MOST: Final = 1000
"""Places in the write-ahead log that are remembered of the time that a standby is behind."""
_UNREACHABLE: Final = "it cannot be asked"
_PAUSES: Final = 0.002, 0.05
"""Seconds between two questions to the standby: the first pause, and the longest."""

_POSITION: Final = "SELECT pg_current_wal_flush_lsn()::text, current_setting('synchronous_commit') = 'off'"
_HAS: Final = """
    SELECT pg_is_in_recovery(), CAST(%s AS pg_lsn) <= pg_last_wal_replay_lsn(), pg_last_wal_replay_lsn()::text"""
_BEHIND: Final = "SELECT extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8"
_IDENTITY: Final = "SELECT system_identifier, current_database()::text FROM pg_control_system()"


class NotUsableError(Exception):
    """The standby cannot answer; says why."""


def position(conn: Connection) -> str:
    """Return the place in the write-ahead log up to which everything is that was committed and acknowledged.

    Raises:
        NotUsableError: the database answers commits before they are on its disk, and says of no place that it has all.
    """
    found, is_ahead = conn.exec_driver_sql(_POSITION).one()
    if is_ahead:
        raise NotUsableError("the database answers commits before they are on its disk (synchronous_commit = off)")
    return str(found)


def identity(conn: Connection) -> tuple[int, str]:
    """Return the number of the cluster, which a standby has from its primary, and the name of the database."""
    system, database = conn.exec_driver_sql(_IDENTITY).one()
    return system, database


def replayed(conn: Connection, wanted: str) -> tuple[bool, str]:
    """Return whether a standby has everything up to a place in the write-ahead log, and how far it is.

    Raises:
        NotUsableError: it is no standby of PostgreSQL.
    """
    standby, has, reached = conn.exec_driver_sql(_HAS, (wanted,)).one()
    if not standby:
        raise NotUsableError("it is no standby: it takes writes, as one does that was promoted")
    if reached is None:
        raise NotUsableError("it does not say how far it has replayed the writes of the database")
    return has, reached


def replay_lag(primary: Connection, standby: Connection) -> float:
    """Return the seconds until a standby has all of its primary, or if that takes long, those it is behind.

    Raises:
        NotUsableError: it is no standby of PostgreSQL.
    """
    wanted, began = position(primary), time.monotonic()
    while not replayed(standby, wanted)[0]:
        standby.rollback()
        if time.monotonic() - began > ANSWER:
            behind: float | None = standby.exec_driver_sql(_BEHIND).scalar_one()
            return max(behind or 0.0, ANSWER)
        time.sleep(_PAUSES[1])
    return time.monotonic() - began


def _having(conn: Connection, wanted: str, function: Callable[[Connection], T]) -> T:
    """Run a function on a snapshot that has everything up to a place in the write-ahead log.

    Raises:
        NotUsableError: the standby does not get there in time.
    """
    driver: Any = conn.connection.driver_connection
    give_up, (pause, longest) = time.monotonic() + PATIENCE, _PAUSES
    while True:
        has, _ = replayed(conn, wanted)
        # The snapshot of this transaction is older than the answer; the next statement begins another one.
        driver.rollback()
        if has:
            return function(conn)
        if time.monotonic() >= give_up:
            raise NotUsableError(f"it is more than {PATIENCE:g} s behind the database")
        time.sleep(pause)
        pause = min(2 * pause, longest)


class Replica(Watch):
    """Answers reads by a standby, and looks after it; in one event loop.

    A read asks the database for the place in its write-ahead log first, and then the standby, on the connection that
    reads, whether it is there. So it sees everything that was committed before it, by whomever and on whichever node.
    Where the standby cannot do that within a moment the database answers, until a look finds that it can again.

    Args:
        primary: The database, as the API reads it.
    """

    def __init__(self, url: str, primary: Database) -> None:
        super().__init__("read-replica", poll=EVERY)
        self._primary = primary
        self._standby = Database(url, part="replica", bounds=ReadBounds(connections=1, seconds=ANSWER))
        self._parts: dict[str, ReplicaReads] = {}
        self._is_checked = False
        self._reason: str | None = "it has not been looked at yet"
        self._said: str | None = None
        self._lag: float | None = None
        self._behind: deque[tuple[float, str]] = deque()
        self._fallbacks: Counter[str] = Counter()
        self._rest = Backoff(EVERY, REST)
        self._rests_until = self._used_since = 0.0
        self._waiting: asyncio.Task[str] | None = None
        self._under_way: asyncio.Task[str] | None = None

    @property
    def state(self) -> ReplicaState:
        """Its present state."""
        return ReplicaState(self._reason is None, self._lag, self._reason, self._said)

    @property
    def databases(self) -> list[Database]:
        """The accesses to the standby, one for each part that reads."""
        return [self._standby, *(one.database for one in self._parts.values())]

    @property
    def fallbacks(self) -> Mapping[str, int]:
        """The number of reads that the database answered in its place, by part."""
        return self._fallbacks

    def helping(self, database: Database, bounds: ReadBounds | None = None) -> Database:
        """Return the same access, whose reads the standby answers where it can.

        Args:
            database: The access of one part.
        """
        part = database.usage.part
        if part not in self._parts:
            self._parts[part] = ReplicaReads(self, self._standby.separate_pool(f"{part}-replica", bounds), part)
        return database.with_replica(self._parts[part])

    async def check(self) -> None:
        """Refuse a server that is no copy of the database; one that cannot be asked now is checked later.

        Raises:
            StorageError: it is another server, or another database of it.
        """
        try:
            other = await self._other()
        except Exception as error:
            if not _may_pass(error):
                raise
            self._fail(error)
            return
        if other is not None:
            raise StorageError(f"read_database_url: {other}")

    async def _other(self) -> str | None:
        """Return why the standby does not belong to the database; None = it does."""
        ours = await self._primary.read(identity)
        theirs = await self._standby.read(identity)
        self._is_checked = ours == theirs
        if self._is_checked:
            return None
        return (
            "must be a standby of the server of database_url, with the same database: "
            f"'{ours[1]}' of cluster {ours[0]}, got '{theirs[1]}' of cluster {theirs[0]}"
        )

    async def look(self) -> None:
        """Find out whether the standby can answer, and how far it is behind."""
        try:
            wanted = await self.wanted()
        except NotUsableError as error:
            self.give_up(str(error))
            return
        self._note(wanted)
        try:
            if not self._is_checked and (other := await self._other()) is not None:
                raise NotUsableError(other)  # noqa: TRY301 - said as what else keeps it from being used
            await self._standby.read(self._measure)
            await self._standby.read(_having, wanted, lambda _conn: None)
        except NotUsableError as error:
            self.give_up(str(error), away=False)
        except Exception as error:
            if not _may_pass(error):
                raise
            self._fail(error)
            if isinstance(error, TimeoutError):
                for one in self.databases:
                    # Who waits for it asks the database instead.
                    one.hang_up()
        else:
            self._behind.clear()
            self._lag = 0.0
            self._take_up()

    def _note(self, wanted: str) -> None:
        if not self._behind or self._behind[-1][1] != wanted:
            self._behind.append((time.monotonic(), wanted))
        if len(self._behind) > _MOST:
            self._behind = deque(list(self._behind)[::2])

    def _measure(self, conn: Connection) -> None:
        """Measure for how long the standby has lacked something that the database had at an earlier look."""
        while self._behind and replayed(conn, self._behind[0][1])[0]:
            self._behind.popleft()
        self._lag = time.monotonic() - self._behind[0][0] if self._behind else 0.0

    def _take_up(self) -> None:
        now = time.monotonic()
        if self._reason is None:
            if now - self._used_since > STEADY:
                self._rest.succeed()
            return
        if now < self._rests_until:
            return
        self._reason, self._said, self._used_since = None, None, now
        log.info("the read replica answers the reads of the API")

    def _fail(self, error: Exception) -> None:
        if isinstance(error, TimeoutError):
            self.give_up(f"it has not answered within {ANSWER:g} s")
        else:
            self.give_up(_UNREACHABLE, first_line(error))

    def give_up(self, reason: str, said: str | None = None, *, away: bool = True) -> None:
        """Stop asking the standby until a look finds that it can answer.

        Args:
            reason: In words.
            said: The driver's message, which may name the address.
            away: Whether it cannot be asked at all.
        """
        if away:
            self._lag = None
        if self._reason is None:
            self._rests_until = time.monotonic() + self._rest.fail()
        if (reason, said) != (self._reason, self._said):
            log.warning("the database answers in the place of the read replica: %s", said or reason)
        self._reason, self._said = reason, said

    def count_fallback(self, part: str) -> None:
        """Count a read that the database answers in the place of the standby."""
        self._fallbacks[part] += 1

    def wanted(self) -> Awaitable[str]:
        """Return the place in the write-ahead log of everything that is committed now, asked once for all who wait."""
        if self._waiting is None:
            # Who asks while a question is under way may know of a commit that is newer than its answer.
            self._waiting = asyncio.create_task(self._ask(self._under_way), name="cronograph-wal-position")
            self._waiting.add_done_callback(_retrieve)
        return asyncio.shield(self._waiting)

    async def wanted_or_none(self) -> str | None:
        """Return the same; None = the database cannot say, as it may do to the reader itself."""
        try:
            return await self.wanted()
        except (DBAPIError, NotUsableError) as error:
            log.info("the database does not say how far its write-ahead log goes: %s", first_line(error))
            return None

    async def _ask(self, before: "asyncio.Task[str] | None") -> str:
        if before is not None:
            await asyncio.wait([before])
        self._under_way, self._waiting = self._waiting, None
        return await self._primary.read(position)

    async def close(self) -> None:
        """Close every connection to the standby."""
        for one in reversed(self.databases):
            await one.close()


def _may_pass(error: Exception) -> bool:
    """Return whether the standby keeps us from asking it, rather than a fault of ours."""
    return isinstance(error, DBAPIError) or kind_of(error).passes


def _retrieve(asked: "asyncio.Task[str]") -> None:
    if not asked.cancelled():
        asked.exception()


class ReplicaReads:
    """The reads of one part by the standby.

    Args:
        database: The access of this part to it.
    """

    def __init__(self, replica: Replica, database: Database, part: str) -> None:
        self.database = database
        self._replica = replica
        self._part = part

    async def read(self, function: Callable[[Connection], T]) -> tuple[T] | None:
        """Return the result of a function that reads; None = the database has to be asked."""
        if self._replica.state.in_use and (wanted := await self._replica.wanted_or_none()) is not None:
            try:
                return (await self.database.read(partial(_having, wanted=wanted, function=function)),)
            except NotUsableError as error:
                self._replica.give_up(str(error), away=False)
            except DBAPIError as error:
                kind = kind_of(error)
                if kind is ErrorKind.REFUSAL or took_too_long(error):
                    raise
                # A read that the standby ends because it has to go on is no reason to leave it alone.
                if kind is not ErrorKind.CONFLICT:
                    self._replica.give_up(_UNREACHABLE, first_line(error))
        self._replica.count_fallback(self._part)
        return None
