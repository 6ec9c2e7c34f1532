"""A node looks after attempts at engines: submits them, asks the engines about all of them at once, and ends them.

All that is known is stored, so another node can go on with it. The code that ends its attempt, and the node that gives
it up or stops it hard, do so by ``queue.remote.end``, which accepts one end; it is stored like any other then.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from secrets import token_hex
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from typing_extensions import override

from ...accounts.actions.accounts import fresh_secret
from ...accounts.rules.credentials import Prefix, stored_form
from ...base.context import StopReason
from ...base.services import Services
from ...core.arguments.secrets import references
from ...core.base.errors import ConfigurationError
from ...core.base.resources import Resources
from ...core.model import Json
from ...core.nodes import Node
from ...core.outcome import Failed, HandedBack, JobOutcome
from ...core.remote import (
    AT_WORK,
    LET_GO,
    UNSEEN,
    QueuePlace,
    RemoteAttempt,
    Seen,
    end_without_words,
    heartbeat_of,
)
from ...executors.finding import Engine, engine_of
from ...executors.protocol import EngineAbsentError, Place, Spec, SubmissionError
from ...own.threads import in_own_thread
from ...queue import remote
from ...queue.claims.claim import Started
from ...queue.remote import AcceptedEnd, Submission, TakenOver
from ...registry import JobDefinition
from ...store.db.database import Database
from ...store.db.faults import first_line, log_fault
from ...store.db.transaction import Tx, Wake
from ...store.statements.executions import remote_attempts
from ..base.service import Backoff, Watch, repeated
from ..base.settings import EngineSettings
from ..process.finding import check_findable
from ..process.wire import Ended
from .contract import RemoteContract
from .folder import Box
from .held import Held
from .outboxes import Outboxes
from .speaking import FOLDER, TOKEN, URL

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)

AT_ONCE: Final = 8
"""Commands to one engine at a time."""
NO_ANSWER: Final = 300.0
"""Seconds after which nobody waits for an engine any more; its call goes on in its thread."""
_PAUSE, _LONGEST_PAUSE = 0.2, 30.0
"""Seconds before a write or a submission that failed is tried again: the first time, and at most."""
_SLOW_COMMIT: Final = timedelta(minutes=1)
"""The start of code may be committed so much later than it is dated."""
_LOOKS_AT_PLACES: Final = 4
"""At most once in so many looks it is stored where attempts wait."""
SUBMISSION: Final = "SubmissionFailed"
"""Error type of an attempt that its engine has not taken."""


class RemoteSupervisor(Watch):
    """Looks after the attempts of one node at its engines.

    Args:
        engines: By the names of their executors.
        contract: Carries out messages of code that reaches no server.
        jobs: The jobs at engines that it takes.
        lease: Seconds for which their code may be silent.
        poll: Seconds between two looks at the engines.
        url: Where their code reaches a server; None: nobody has said so.
        room: How many more attempts it may look after.

    Attributes:
        on_taken_over: Called with attempts that it looks after from now on.
    """

    def __init__(
        self,
        database: Database,
        node: Node,
        engines: Mapping[str, Engine],
        contract: RemoteContract,
        jobs: Collection[str],
        *,
        lease: float,
        poll: float,
        url: str | None,
        room: Callable[[], int],
    ) -> None:
        super().__init__("remote", hints=Wake.REMOTE, poll=poll)
        self._database = database
        self._node = node
        self._engines = engines
        self._jobs = jobs
        self._lease = lease
        self._url = url
        self._room = room
        self._held: dict[int, Held] = {}
        self._leaving = asyncio.Event()
        self._turns = {name: asyncio.Semaphore(AT_ONCE) for name in engines}
        self._asked_at = self._searched_at = float("-inf")
        self._every = poll
        self._places_at: dict[str, float] = {}
        self._tidying: set[asyncio.Task[object]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._began_until: datetime | None = None
        self._contract = contract
        self._outboxes: dict[str, Outboxes] = {}
        self.on_taken_over: Callable[[Started, RemoteAttempt], None] = _nobody

    @property
    def heartbeat(self) -> float:
        """Seconds between two signs of life of code at an engine: it learns of a stop no later."""
        return heartbeat_of(self._lease)

    def hold(self, started: Started, executor: str, ask: Callable[[StopReason], None]) -> Held:
        """Look after an attempt from now on."""
        held = Held(started, executor, ask, asyncio.get_running_loop().create_future())
        held.deadline = started.run.deadline_at
        self._held[started.execution_id] = held
        return held

    def leave(self, held: Held) -> None:
        """Look after an attempt no longer: its end is about to be stored, or another node has it."""
        self._held.pop(held.started.execution_id, None)
        for one in self._outboxes.values():
            one.close(held.started.execution_id)

    def found(self, held: Held, one: RemoteAttempt) -> None:
        """Look after an attempt that is at its engine already."""
        held.place, held.seen = Place(one.name, one.handle), Seen(one.engine_state, one.engine_text)
        if one.queue_position is not None and one.queue_length is not None:
            held.waits_at = QueuePlace(one.queue_position, one.queue_length)
        if one.started_at is not None:
            held.note_start(one.started_at)
        self._open(held, one.token_hash, one.folder, begun=one.started_at is not None)
        if one.stop is not None:
            # The node before this one may not have written so.
            self._aside(self._tell(held), f"cronograph-tell-{one.execution_id}")
        if self._leaving.is_set() and not held.ended.done():
            held.ended.set_result(None)
        # Its end may have been accepted meanwhile.
        self.poke()

    async def let_go(self) -> None:
        """Leave all attempts to other nodes, those too that are being submitted, once they are."""
        self.let_go_at_once()
        await self._database.write(remote.let_go, self._node.id)

    def let_go_at_once(self) -> None:
        """Let go without writing so: this node is taken for dead, or will be."""
        self._leaving.set()
        for held in list(self._held.values()):
            if held.place is not None and not held.ended.done():
                held.ended.set_result(None)

    def take_again(self) -> None:
        """Look after attempts again after ``let_go``."""
        self._leaving.clear()
        self.poke()

    # Submitting.

    async def submit(self, held: Held, begin: Mapping[str, Any], resources: Resources) -> JobOutcome | None:
        """Hand an attempt to its engine.

        Returns:
            How it has ended if it has not come to that; None: the engine has it, perhaps.
        """
        run, execution_id = held.started.run, held.started.execution_id
        engine = self._engines[held.executor]
        fault = self._fault(held.executor, engine, run.args)
        if fault is not None:
            return Failed(SUBMISSION, fault)
        # The random part distinguishes it from those of other installations that use the same engine.
        token, name = fresh_secret(Prefix.REMOTE), f"cronograph-{token_hex(4)}-{run.id}-{run.attempt}"
        folder = None if engine.folder is None else str(engine.folder / name)
        new = Submission(
            held.executor, name, stored_form(token), begin, folder, resources.document() or None, engine.page
        )
        if not await self._write(remote.note_submission, run, execution_id, new):
            return LET_GO
        where = {URL: self._url or "", TOKEN: token} if folder is None else {FOLDER: folder}
        environment = _environment(where, name, held)
        spec = Spec(name, environment, resources, run.job_name, run.id, run.attempt, run.timeout)
        if folder is not None and not await self._place(held, new.token_hash, folder):
            return None
        handle: str | None = None
        try:
            handle = await self._submitted(held, engine, spec)
        except SubmissionError as error:
            await self._end(held, Failed(SUBMISSION, f"{held.executor} has not taken it: {error}"))
        except Exception as error:
            # Perhaps it has it, perhaps not: it is looked for, and never submitted twice.
            words = "nobody knows whether %s has taken %s; it is looked for there: %s"
            log.warning(words, held.executor, name, first_line(error))
        held.place = Place(name, handle)
        if handle is not None:
            await self._write(remote.note_handle, execution_id, handle)
        if self._leaving.is_set() and not held.ended.done():
            held.ended.set_result(None)
        return None

    async def _submitted(self, held: Held, engine: Engine, spec: Spec) -> str | None:
        """Submit an attempt, again while its engine is absent; return its handle, None: it has ended meanwhile."""
        backoff = Backoff(_PAUSE, _LONGEST_PAUSE)
        while not held.ended.done():
            try:
                return await self._call(held.executor, engine.executor.submit, spec)
            except EngineAbsentError as error:
                if self._leaving.is_set():
                    await self._end(held, HandedBack(f"{held.executor} could not be reached: {error}"))
                    return None
                pause = backoff.fail()
                log.warning("%s cannot be reached, again in %.1f s: %s", held.executor, pause, error)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._leaving.wait()
        return None

    def _fault(self, name: str, engine: Engine, args: Mapping[str, Json]) -> str | None:
        """Say why an attempt cannot be handed to an engine as it is configured."""
        if engine.folder is None and self._url is None:
            return (
                "this node does not know where code at an engine reaches a server; set remote_url "
                "(CRONOGRAPH_REMOTE_URL), e.g. https://cron.example.com"
            )
        secrets = sorted(references(args)) if engine.folder is not None and not engine.takes_secrets else ()
        if secrets:
            return (
                f"its arguments have the secret '{secrets[0]}', which would be kept in {engine.folder} until its code "
                f"begins; allow that by 'secrets = true' in [executors.{name}]"
            )
        return None

    async def _place(self, held: Held, token_hash: str, folder: str) -> bool:
        """Leave in the folder of an attempt the data for its code; if that cannot be, it has ended."""
        try:
            refused = await self._outboxes_of(held.executor).place(token_hash, Path(folder))
        except OSError as error:
            refused = f"its folder cannot be made: {error}"
        if refused is not None:
            await self._end(held, Failed(SUBMISSION, str(refused)))
            return False
        self._open(held, token_hash, folder, begun=False)
        return True

    def _open(self, held: Held, token_hash: str, folder: str | None, *, begun: bool) -> None:
        if folder is not None:
            self._outboxes_of(held.executor).open(held.started.execution_id, token_hash, Path(folder), begun=begun)

    def _outboxes_of(self, executor: str) -> Outboxes:
        if executor not in self._outboxes:
            made = self._outboxes[executor] = Outboxes(
                executor, self._database, self._contract, self._every, self._end_broken
            )
            made.start()
        return self._outboxes[executor]

    def _end_broken(self, execution_id: int, outcome: Failed) -> None:
        held = self._held.get(execution_id)
        if held is not None:
            self._aside(self.stop_hard(held, outcome), f"cronograph-broken-{execution_id}")

    def _aside(self, work: Coroutine[Any, Any, object], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tidying.add(task)
        task.add_done_callback(self._tidying.discard)

    async def _call(self, executor: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        async with self._turns[executor], asyncio.timeout(NO_ANSWER):
            return await in_own_thread(function, *args, **kwargs)

    async def _write(self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Write, again and again while the database is unavailable: each of these writes may be repeated."""
        return await repeated(lambda: self._database.write(function, *args, **kwargs), _note_pause, _PAUSE)

    async def _end(self, held: Held, outcome: JobOutcome) -> None:
        """End an attempt; an earlier end counts."""
        message = Ended.of(outcome).model_dump(mode="json")
        await self._write(remote.end, held.started.execution_id, message)
        await self._take_end(held)

    async def _take_end(self, held: Held) -> None:
        execution_id = held.started.execution_id
        found = await repeated(lambda: self._database.read(remote.accepted_end, execution_id), _note_pause, _PAUSE)
        if not held.ended.done():
            held.ended.set_result(found)

    # Stopping.

    async def note_stop(self, held: Held, reason: StopReason) -> None:
        """Have its code asked to stop with the answer to its next word."""
        await self._write(remote.note_stop, held.started.execution_id, reason.value)
        await self._tell(held)

    async def _tell(self, held: Held) -> None:
        outboxes = self._outboxes.get(held.executor)
        if outboxes is not None:
            await outboxes.tell(held.started.execution_id)

    async def stop_hard(self, held: Held, outcome: JobOutcome) -> AcceptedEnd | None:
        """End an attempt that did not leave when asked to, here and at its engine; return its accepted end."""
        await self._end(held, outcome)
        if held.place is not None:
            await self._try(held.executor, "cancel", self._engines[held.executor].executor.cancel, held.place)
        return await held.ended

    async def _try(self, executor: str, what: str, function: Callable[..., object], place: Place) -> bool:
        try:
            done = await self._call(executor, function, place)
        except Exception as error:
            log.warning("%s could not %s %s: %s", executor, what, place.handle or place.name, error)
            return False
        return done is not False

    # Looking.

    @override
    async def look(self) -> None:
        """Take accepted ends; now and then ask the engines, mind the time, and take over orphaned attempts."""
        if self._leaving.is_set():
            return
        for execution_id in await self._database.read(remote.ended_of, self._node.id):
            held = self._held.get(execution_id)
            if held is not None:
                await self._take_end(held)
        await self._take_over()
        loop = asyncio.get_running_loop()
        if self._watching is None and loop.time() - self._asked_at >= self._every / 2:
            self._asked_at = loop.time()
            # An engine that takes its time keeps nobody from the ends that have come.
            self._watching = loop.create_task(self._watch(), name="cronograph-engines")
            self._watching.add_done_callback(self._watched)

    def _watched(self, watching: "asyncio.Task[None]") -> None:
        self._watching = None
        if not watching.cancelled() and (fault := watching.exception()) is not None:
            log_fault(log, "looking after attempts at engines failed, again soon", fault)

    async def _watch(self) -> None:
        # Silence is measured up to here: how long an engine takes for its answer is not the silence of any code.
        there = await self._database.read(remote.open_attempts, self._node.id, self._began_until)
        self._began_until = there.now - _SLOW_COMMIT
        strangers = there.ids - self._held.keys()
        if strangers:
            self._tidy((await self._database.read(remote_attempts, strangers)).values())
        asked: dict[str, list[Held]] = {}
        for execution_id, held in self._held.items():
            if held.place is None or execution_id not in there.ids:
                continue
            if execution_id in there.began:
                held.note_start(there.began[execution_id])
            if held.deadline is not None and held.deadline <= there.now and not held.is_asked:
                held.is_asked = True
                held.ask(StopReason.DEADLINE)
            held.since = held.since or there.now
            asked.setdefault(held.executor, []).append(held)
        await asyncio.gather(*(self._ask(executor, some, there.now) for executor, some in asked.items()))
        loop = asyncio.get_running_loop()
        if loop.time() - self._searched_at >= self._lease:
            self._searched_at = loop.time()
            revive = [name for name, engine in self._engines.items() if engine.revives]
            await asyncio.gather(*(self._end_strays(executor) for executor in revive))

    async def _end_strays(self, executor: str) -> None:
        """Make an engine forget ended attempts that it still has, as it broke down before it kept their end."""
        engine = self._engines[executor].executor
        at_work = await self._answer(executor, self._call(executor, engine.find, ()))
        if at_work:
            for one in await self._database.read(remote.over_among, at_work.keys()):
                log.warning("%s has %s at work, which is over: %s", executor, one.name, at_work[one.name].text)
                await self._try(executor, "forget", engine.forget, Place(one.name, one.handle))

    async def _answer(self, executor: str, asking: Awaitable[T]) -> T | None:
        """Return the answer of an engine; None: it does not answer, and nothing is concluded."""
        try:
            return await asking
        except Exception as error:
            log.warning("%s does not answer: %s", executor, error)
            return None

    async def _found(self, executor: str, asked: Sequence[Held]) -> Mapping[str, Seen]:
        """Ask an engine about all attempts with one call, and look for those of which no handle is known."""
        places = [held.place for held in asked if held.place is not None]
        found = await self._call(executor, self._engines[executor].executor.find, places)
        for place, held in zip(places, asked, strict=True):
            if place.handle is None:
                await self._look_for(held, place)
        return found

    async def _ask(self, executor: str, asked: Sequence[Held], now: datetime) -> None:
        """Ask an engine about all attempts; note nothing while it does not answer."""
        names = [held.place.name for held in asked if held.place is not None]
        found = await self._answer(executor, self._found(executor, asked))
        if found is None:
            return
        new: dict[int, Seen] = {}
        doubtful: dict[int, Seen] = {}
        for name, held in zip(names, asked, strict=True):
            seen = found.get(name, UNSEEN)
            if seen != held.seen:
                new[held.started.execution_id] = seen
            if seen.state not in AT_WORK:
                doubtful[held.started.execution_id] = seen
        if doubtful:
            await self._doubt(doubtful, now)
        if new:
            await self._database.write(remote.note_seen, new)
            for held in asked:
                held.note_seen(new.get(held.started.execution_id, held.seen))
        places = {held: found.get(name, UNSEEN).place for name, held in zip(names, asked, strict=True)}
        await self._note_places(executor, places)

    async def _note_places(self, executor: str, places: Mapping[Held, QueuePlace | None]) -> None:
        """Store where attempts wait: seldom, because all places change with each attempt that begins."""
        now = asyncio.get_running_loop().time()
        if now < self._places_at.get(executor, 0.0):
            return
        news = {held: place for held, place in places.items() if place != held.waits_at}
        if news:
            self._places_at[executor] = now + _LOOKS_AT_PLACES * self._every
            stored = {held.started.execution_id: place for held, place in news.items()}
            await self._database.write(remote.note_places, stored)
            for held, place in news.items():
                held.waits_at = place

    async def _doubt(self, doubtful: Mapping[int, Seen], now: datetime) -> None:
        """End attempts that are not at work any more by all that is known of them."""
        for execution_id, one in (await self._database.read(remote_attempts, doubtful.keys())).items():
            held = self._held.get(execution_id)
            if held is None or held.place is None or held.since is None or one.ended_at is not None:
                continue
            end = end_without_words(one, doubtful[execution_id], now, self._lease, held.since)
            if end is not None and await self._is_silent(held):
                await self._end(held, end)
                await self._try(one.executor, "cancel", self._engines[one.executor].executor.cancel, held.place)

    async def _is_silent(self, held: Held) -> bool:
        """Return whether nothing of an attempt is left to be read: how it ended may lie in its folder."""
        outboxes = self._outboxes.get(held.executor)
        try:
            return outboxes is None or await outboxes.catch_up(held.started.execution_id)
        except OSError as error:
            log.warning("execution %d: its folder cannot be read, again soon: %s", held.started.execution_id, error)
            return False

    async def _look_for(self, held: Held, place: Place) -> None:
        handle = await self._call(held.executor, self._engines[held.executor].executor.look, place)
        if handle is not None:
            log.info("%s has %s after all: %s", held.executor, place.name, handle)
            held.place = Place(place.name, handle)
            await self._write(remote.note_handle, held.started.execution_id, handle)

    def _tidy(self, rows: Iterable[RemoteAttempt]) -> None:
        """Have engines forget attempts whose ends are stored."""
        busy = {task.get_name() for task in self._tidying}
        for one in rows:
            name = f"cronograph-tidy-{one.execution_id}"
            if name not in busy:
                self._aside(self._forget(one), name)

    async def _forget(self, one: RemoteAttempt) -> None:
        """End and forget an attempt at its engine, unless its run still runs; this node holds that then."""
        try:
            run = await self._database.read(remote.still_running, one)
            if run is not None:
                if one.execution_id not in self._held and not self._leaving.is_set():
                    self.on_taken_over(Started(run, one.execution_id, run.checkpoint), one)
                return
            place, engine = Place(one.name, one.handle), self._engines.get(one.executor)
            if engine is not None:
                if one.ended_at is None:
                    await self._try(one.executor, "cancel", engine.executor.cancel, place)
                if not await self._try(one.executor, "forget", engine.executor.forget, place):
                    return
            if one.folder is not None:
                await in_own_thread(Box(Path(one.folder)).remove)
            await self._database.write(remote.note_over, [one.execution_id])
        except Exception as error:
            log_fault(log, f"{one.name} at {one.executor} is not tidied up, again soon", error)

    async def _take_over(self) -> None:
        room = self._room()
        if room <= 0:
            return
        taken: TakenOver = await self._database.write(
            remote.take_over,
            self._node.id,
            self._node.name,
            jobs=self._jobs,
            executors=list(self._engines),
            limit=room,
        )
        for one, run in taken.going_on:
            log.info(
                "node %s looks after run %d at %s from now on (%s)", self._node.name, run.id, one.executor, one.name
            )
            self.on_taken_over(Started(run, one.execution_id, run.checkpoint), one)
        if taken.going_on or taken.over:
            self.poke()

    @override
    async def stop(self) -> None:
        """End; engines that are being asked go on in their threads."""
        await super().stop()
        for one in self._outboxes.values():
            await one.stop()
        for task in (*self._tidying, *filter(None, [self._watching])):
            task.cancel()


def _note_pause(pause: float, error: Exception) -> None:
    log.warning("the states of attempts at engines are not stored, again in %.1f s: %s", pause, first_line(error))


def _nobody(_started: Started, _attempt: RemoteAttempt) -> None:
    """Do nothing: no attempt is taken over."""


def _environment(where: Mapping[str, str], name: str, held: Held) -> dict[str, str]:
    run = held.started.run
    return {
        **where,
        "CRONOGRAPH_ATTEMPT_NAME": name,
        "CRONOGRAPH_ATTEMPT_RUN": str(run.id),
        "CRONOGRAPH_ATTEMPT_NUMBER": str(run.attempt),
    }


def supervisor_of(
    services: Services,
    settings: EngineSettings,
    node: Node,
    jobs: Sequence[JobDefinition],
    *,
    room: Callable[[], int],
) -> RemoteSupervisor:
    """Make the supervisor with the executors of these jobs.

    Raises:
        ConfigurationError: an executor is not there, its settings do not fit, or a job cannot be found by its code.
    """
    engines: dict[str, Engine] = {}
    for one in jobs:
        check_findable(one)
        name = one.executor or ""
        if name not in engines:
            try:
                engines[name] = engine_of(name, settings.executors)
            except ConfigurationError as error:
                raise ConfigurationError(f"job '{one.name}' at {one.where}: isolation '{name}': {error}") from error
    return RemoteSupervisor(
        services.database,
        node,
        engines,
        RemoteContract(services, settings.remote_lease),
        [one.name for one in jobs],
        lease=settings.remote_lease,
        poll=settings.remote_poll,
        url=settings.remote_url or services.public_url,
        room=room,
    )
