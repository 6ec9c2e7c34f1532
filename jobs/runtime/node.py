"""One life of a node: registered, beating, dispatching and executing, until it is stopped or found to be fenced."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection
from random import SystemRandom

from ..actions.nodes import Beat, NewNode, join, leave, live_names, set_state
from ..base.services import Services
from ..core.base.errors import StorageError
from ..core.model import Isolation
from ..core.nodes import LIVE_NODES, Node, NodeState
from ..core.outcome import HandedBack, Lost
from ..queue.versions import may_expire_unread, skip_unread, take_unread, unread_for
from ..registry import Registry
from ..store.db.database import Database
from ..store.db.faults import first_line, kind_of, log_fault
from ..store.db.transaction import Tx, Wake
from ..store.statements.nodes import live
from .attempts.attempt import Attempt
from .attempts.worker import Worker
from .base.service import ChangeDetector, Duty, Pulse, Service, Stall, persistently, stall_of
from .base.settings import Clock, EngineSettings
from .duties import dispatcher, figures, watchers
from .duties.alarms import AlarmReader, AlarmSender
from .duties.dispatcher import Dispatcher
from .duties.watchers import Releaser, Rescuer
from .duties.webhooks import WebhookReader
from .lease import FENCE_AT, Fence, Heartbeat
from .live.writers import LogWriter, ProgressWriter

log = logging.getLogger(__name__)


_SERVING = (NodeState.ACTIVE, NodeState.STALLED)


class DrainWatcher(Service):
    """Follows the state of this node in the database: ``DRAINING`` asks it to drain, ``ACTIVE`` takes that back.

    Args:
        drain_timeout: How many seconds running jobs may go on; 0 = as long as they take.
        on_drained: Called once nothing runs any more, or the time is up; from then on nothing is taken back.

    Attributes:
        timed_out: Attempts that still ran when the node had drained have had their time.
    """

    def __init__(self, life: "NodeLife", drain_timeout: float, on_drained: Callable[[], None]) -> None:
        super().__init__("drain-watcher")
        self._life = life
        self._drain_timeout = drain_timeout
        self._on_drained = on_drained
        self._asked = asyncio.Event()
        self._taken_back = asyncio.Event()
        self.timed_out = False

    @property
    def asked(self) -> bool:
        """Return whether somebody asked this node to drain and has not taken it back."""
        return self._asked.is_set()

    def on_state(self, state: NodeState) -> None:
        """Note the node's state in the database; called in the event loop after every heartbeat."""
        if state is NodeState.DRAINING and not self.asked:
            self._taken_back.clear()
            self._asked.set()
        elif state in _SERVING and self.asked:
            self._asked.clear()
            self._taken_back.set()
        elif state in _SERVING:
            # It may have been asked and taken back between two heartbeats, and only a claim have seen it.
            self._life.worker.take_again()

    async def run(self) -> None:
        """Drain whenever it is asked for, until that has led to the end."""
        name = self._life.node.name
        while True:
            # At the beginning that changes nothing; after a fault on the way back it is what is left to do.
            self._life.resume()
            await self._asked.wait()
            log.info("node %s was asked to drain: it takes nothing new and ends once its jobs have", name)
            await self._life.pause()
            idle = await self._wait_idle()
            if not self._taken_back.is_set() and await self._life.announce_stopping({NodeState.DRAINING}):
                self.timed_out = not idle
                self._on_drained()
                return
            self.passed()
            await self._taken_back.wait()
            log.info("node %s takes runs again", name)

    async def _wait_idle(self) -> bool:
        """Wait until nothing runs, the time is up, or it is taken back; return whether nothing runs."""
        idle = asyncio.ensure_future(self._life.worker.attempts.wait_idle(self._drain_timeout or None))
        back = asyncio.ensure_future(self._taken_back.wait())
        try:
            await asyncio.wait([idle, back], return_when=asyncio.FIRST_COMPLETED)
            return idle.done() and idle.result()
        finally:
            idle.cancel()
            back.cancel()


ADJECTIVES = (
    "agile amber ancient bold brave bright brisk calm candid careful cheerful clever cosmic crisp curious daring deep "
    "eager early earnest elegant evasive fair fearless fluent gentle glad golden graceful happy hidden honest humble "
    "keen kind lively loyal lucid mellow merry mighty modest nimble noble patient placid polite proud quick quiet "
    "rapid ready serene sharp silent silver sincere sleepy smooth solar stable steady subtle sunny swift tidy tranquil "
    "true vivid warm watchful wise witty"
).split()
SURNAMES = (
    "archimedes babbage bell bohr boole curie darwin dijkstra edison einstein euclid euler faraday fermi feynman "
    "franklin galileo gauss goedel goodall hamilton hawking heisenberg hertz hooke hopper hubble huygens hypatia "
    "jackson johnson joule kepler kilby knuth lamarr lamport leibniz liskov lovelace maxwell mcclintock meitner mendel "
    "morse newton nobel noether pascal pasteur payne perlman planck poincare ramanujan ride ritchie rubin sagan "
    "shannon tesla thompson torvalds turing volta wiles wozniak yonath"
).split()


def random_name() -> str:
    """Return a name that is easy to say and, with its number, practically unique."""
    source = SystemRandom()
    return f"{source.choice(ADJECTIVES)}-{source.choice(SURNAMES)}-{source.randint(10_000, 99_999)}"


_SEQUENCES = 2**48

APART = 0.05
"""Seconds between the first looks of parts that begin together: at once, each would need a connection of its own, and
to open one takes the server longer than what it is asked first."""
_LAST_ENDS = 5.0
"""Seconds in which what was killed has ended."""


async def register(database: Database, registry: Registry, settings: EngineSettings) -> Node:
    """Make this process a node under a name that no live node has, and publish its jobs."""
    # By this number it finds itself if the answer to its registration was lost.
    seq = secrets.randbelow(_SEQUENCES)
    return await persistently(lambda: database.write(_join, registry, settings, database.is_sqlite, seq))


def _join(tx: Tx, registry: Registry, settings: EngineSettings, only_node: bool, seq: int) -> Node:
    registered = next((one for one in live(tx.conn) if one.seq == seq), None)
    if registered is not None:
        return registered
    wanted = settings.node_name or random_name()
    # On SQLite the holder of the file lock knows that a node of this name is dead; ``join`` rescues it.
    name = wanted if only_node or wanted not in live_names(tx) else f"{wanted}-{random_name().rpartition('-')[2]}"
    if name != wanted:
        log.warning("a live node is called %s already; this one is called %s", wanted, name)
    infos = tuple(job.info for job in registry)
    new = NewNode(
        name,
        settings.slots,
        settings.version,
        infos,
        settings.lease,
        settings.thread_slots,
        settings.child_slots,
        settings.choice,
        seq,
        settings.remote_slots if any(one.isolation is Isolation.REMOTE for one in registry) else None,
    )
    return join(tx, new, only_node=only_node)


async def take_back(database: Database, joining: "asyncio.Task[Node]") -> None:
    """End the node of a registration, done or under way, whose life does not begin; a fault is only logged."""
    await asyncio.wait([joining])
    if joining.exception() is not None:
        return
    node = joining.result()
    try:
        await _write_leave(database, node, _stopped(node))
    except Exception as fault:
        # The caller is about to raise why the life does not begin.
        log_fault(log, f"node {node.name} does not begin and cannot say so", fault)


def _stopped(node: Node) -> HandedBack:
    return HandedBack(f"node {node.name} stopped before the job ended")


async def _write_leave(database: Database, node: Node, unfinished: HandedBack | Lost) -> None:
    """Write that a node has stopped, and tried again for ``PERSISTENCE`` seconds while the database is unavailable.

    Raises:
        StorageError: it stayed unavailable.
    """
    try:
        await persistently(lambda: database.write(leave, node, NodeState.STOPPED, unfinished=unfinished))
    except Exception as error:
        if not kind_of(error).passes:
            raise
        lease = (node.expires_at - node.heartbeat_at).total_seconds()
        when = "with its next start" if database.is_sqlite else f"once its lease of {lease:g} s has ended"
        reason = first_line(error)
        raise StorageError(
            f"node {node.name} has stopped and could not write so, because the database is unavailable ({reason}); "
            f"what it ran and could not store begins again {when}"
        ) from None


async def leave_broken(database: Database, node: Node, reason: str) -> None:
    """Write that a node of this process has ended whose event loop has; its runs go back to the queue.

    Args:
        database: Used in another event loop than that.
        reason: Why the loop has ended.
    """
    unfinished = Lost(f"node {node.name} ended while it ran this job: {reason}")
    await _write_leave(database, node, unfinished)


class NodeLife:
    """The moving parts that belong to one registered node.

    Args:
        services: Database and API for jobs.
        registry: The jobs this node can run.
        settings: How the node works.
        node: As ``register`` returned it.
        clock: The clocks of this process.
        since: When the registration began, by its monotonic clock: the lease counts from there.
        on_drained: Called once this node has drained because somebody asked for it, and is about to end.
    """

    def __init__(
        self,
        services: Services,
        registry: Registry,
        settings: EngineSettings,
        node: Node,
        logs: LogWriter,
        progress: ProgressWriter,
        *,
        clock: Clock,
        since: float,
        on_drained: Callable[[], None],
    ) -> None:
        self.node = node
        self._database = services.database
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._turning = Pulse("event loop")
        poll = settings.poll_for(is_sqlite=self._database.is_sqlite)
        self.dispatcher = Dispatcher(services, node.name, clock=clock, poll=poll)
        self.releaser = Releaser(self._database, poll=poll)
        self.alarms = (
            AlarmReader(services, node.id, poll=poll),
            WebhookReader(services, node.id, poll=poll),
            AlarmSender(services, node.id, poll=poll),
        )
        self.worker = Worker(services, registry, settings, node, logs, progress, on_held_back=self.releaser.poke)
        self._heartbeat = Heartbeat(
            self._database,
            node,
            interval=settings.heartbeat,
            lease=settings.lease,
            clock=clock,
            since=since,
            running=lambda: self.worker.running,
            on_beat=self._on_beat,
            stall=self._look_for_stall,
            on_fault=services.counts.failed,
        )
        self._duties = self._make_duties(clock, poll)
        self.fenced = self.worker.fenced
        self._left_behind: list[int] = []
        self._fence = Fence(settings.lease, settings.hard_stop_grace, self._heartbeat.age, self)
        self.drain_watcher = DrainWatcher(self, settings.drain_timeout, on_drained)
        self._count_fault = services.counts.failed

    @property
    def database_answers(self) -> bool:
        """Return whether the database took the last heartbeat."""
        return self._heartbeat.answers()

    @property
    def services(self) -> tuple[Service, ...]:
        """All parts that run for as long as this life does, besides the heartbeat."""
        return self.dispatcher, self.worker, self.releaser, *self.alarms, *self._duties, self.drain_watcher

    def stall(self) -> Stall | None:
        """Return the part that has made no progress for a whole lease, if there is one; from any thread."""
        return stall_of((self.dispatcher.pulse, *self.worker.pulses), self._settings.lease, carrier=self._turning)

    def _look_for_stall(self) -> Stall | None:
        self._turning.wanted()
        self._loop.call_soon_threadsafe(self._turning.done)
        return self.stall()

    def _make_duties(self, clock: Clock, poll: float) -> list[Duty]:
        lease = self._settings.lease
        self._versions = Duty("versions", self._settings.heartbeat, self._take_unread)
        duties = [
            Duty("poll", poll, self._poll, should_poll=ChangeDetector(self._database).should_poll),
            Duty("clock-check", dispatcher.STEP, self._check_clock),
            Duty("stopped children", lease / 8, self.worker.kill_stopped_children),
            Duty("disown", lease / 8, self.worker.disown_unknown),
            self._versions,
            Duty("expire", watchers.EVERY, watchers.Expirer(self._database, self.node.name).look),
            Duty("count hours", figures.HOURS_EVERY, figures.HourCounter(self._database, clock).look),
            Duty("keep depth", figures.DEPTH_EVERY, figures.DepthKeeper(self._database, clock).look),
        ]
        if not self._database.is_sqlite:
            # There one process owns the file: nobody could take its runs, and it has nobody to rescue.
            rescuer = Rescuer(
                self._database, own=self.node.id, lease=lease, heartbeat=self._settings.heartbeat, clock=clock
            )
            duties.append(Duty("rescue", lease / 8, rescuer.look))
            duties.append(Duty("blocks", watchers.CUT_EVERY, watchers.BlockCutter(self._database).look))
        return duties

    async def _take_unread(self) -> None:
        """Take the runs whose arguments other versions of their jobs could not read, and this node's has not tried."""
        while found := await self._database.read(unread_for, self.node):
            taken = await self._database.write(take_unread, self.node, found)
            log.info("runs that waited for this version of their job: %d taken", taken)
            if not taken:
                # Others are at them.
                break
        if await self._database.read(may_expire_unread):
            await self._database.write(skip_unread, self.node)

    def start(self) -> None:
        """Begin to beat, dispatch and execute."""
        self._heartbeat.start()
        if not self._database.is_sqlite:
            self._fence.start()
        for place, watch in enumerate((*self.alarms, *self._duties)):
            watch.first_after = place * APART
        for service in self.services:
            service.on_fault = self._count_fault
            service.start()

    async def _end_duties(self) -> None:
        await self.dispatcher.stop()
        await self.releaser.stop()
        for service in self.alarms:
            await service.stop()
        for duty in self._duties:
            await duty.stop()

    def on_wake(self, wakes: Wake) -> None:
        """Pass a hint on."""
        if wakes & Wake.NODES:
            # Perhaps somebody asked this node to drain; the beat shows it.
            self._heartbeat.beat_now()
            self._versions.poke()
        for service in self.alarms:
            service.on_wake(wakes)
        self.dispatcher.on_wake(wakes)
        self.releaser.on_wake(wakes)
        self.worker.on_wake(wakes)

    async def leave_starting(self) -> None:
        """Set this node's state to ACTIVE, unless it was asked to drain already."""
        active, sources = NodeState.ACTIVE, {NodeState.STARTING}
        await persistently(lambda: self._database.write(set_state, self.node, active, sources))

    async def announce_stopping(self, sources: Collection[NodeState] = LIVE_NODES) -> bool:
        """Set this node's state to STOPPING; False if it is in none of the states ``sources``."""
        return await self._database.write(set_state, self.node, NodeState.STOPPING, sources)

    async def pause(self) -> None:
        """Dispatch and take nothing new; the other duties go on."""
        await self.dispatcher.stop()
        await self.worker.stop_taking()

    def resume(self) -> None:
        """Dispatch and take runs again after ``pause``."""
        self.dispatcher.start()
        self.worker.take_again()

    async def stop_taking(self) -> None:
        """Announce the stop, then dispatch and take nothing new, for good; ``leave`` writes it if this cannot."""
        await self._if_available(self.announce_stopping)
        await self._end_duties()
        await self._if_available(self.worker.stop_taking)

    async def _if_available(self, write: Callable[[], Awaitable[object]]) -> None:
        try:
            await write()
        except Exception as error:
            if not kind_of(error).passes:
                raise
            log.warning("node %s stops while its database is unavailable: %s", self.node.name, first_line(error))

    async def finish(self, drain_timeout: float) -> None:
        """Let attempts end, at most ``drain_timeout`` seconds (0 = as long as it takes), then hand them back.

        If this node was asked to drain, and its attempts have had their time, they are handed back at once.
        """
        if self.drain_watcher.timed_out or not await self.worker.attempts.wait_idle(drain_timeout or None):
            log.warning("%d runs still run after %g s and are handed back", self.worker.running, drain_timeout)
            await self.worker.attempts.hand_back()
        await self.worker.stop()
        self._fence.stop()

    async def leave(self) -> None:
        """Write that the node has stopped, give back the runs it could not end, and stop beating.

        Raises:
            StorageError: the database is unavailable, and did not come back within ``PERSISTENCE`` seconds.
        """
        self._heartbeat.stop()
        await _write_leave(self._database, self.node, _stopped(self.node))

    def stop_beating(self) -> None:
        """Stop the sign of life; from any thread."""
        self._heartbeat.stop()

    async def abandon(self) -> None:
        """End everything and leave nothing to the node's name: it is taken for dead, or soon will be."""
        self._heartbeat.stop()
        self._fence.fall(silent=self._silent())
        await self.drain_watcher.stop()
        await self._end_duties()
        await self.worker.halt()
        await self._wait_fenced_off()
        await self.worker.stop()
        unfinished = Lost(f"node {self.node.name} was cut off while it ran this job")
        await self._database.write(
            leave, self.node, NodeState.EXPIRED, unfinished=unfinished, left_behind=self._left_behind
        )

    async def _poll(self) -> None:
        self.worker.poke()

    async def _check_clock(self) -> None:
        self.dispatcher.alarm.check()

    def _silent(self) -> float:
        """Return for how many seconds the others have heard nothing of this node, at least as many as they say."""
        age = self._heartbeat.age()
        return max(age, self._settings.lease) if self.worker.declared_dead else age

    def ask_to_stop(self) -> None:
        """Take nothing new, ask attempts to stop, and let go of connections that may never answer."""
        age = self._heartbeat.age()
        if age >= FENCE_AT * self._settings.lease:
            log.error("node %s had no good heartbeat for %.1f s and fences itself off", self.node.name, age)
        self.worker.ask_to_stop()
        self._database.hang_up()

    def stop_hard(self) -> None:
        """Give attempts no more time."""
        self.worker.attempts.hurry()

    def kill(self) -> None:
        """Kill the child processes."""
        self.worker.kill()

    def leave_behind(self) -> None:
        """Name the attempts that still run."""
        for attempt in self.worker.attempts.leave_behind():
            run = attempt.started.run
            self._left_behind.append(attempt.started.execution_id)
            log.error(
                "node %s cannot stop run %d (job '%s', attempt %d): its %s goes on, though another node may begin the "
                "run now; a job should end once `should_stop` says so",
                self.node.name,
                run.id,
                run.job_name,
                run.attempt,
                _what_goes_on(attempt),
            )

    async def _wait_fenced_off(self) -> None:
        quiet = asyncio.ensure_future(self.worker.attempts.wait_quiet(self._settings.lease))
        passed = asyncio.ensure_future(self._fence.passed.wait())
        await asyncio.wait([quiet, passed], return_when=asyncio.FIRST_COMPLETED)
        quiet.cancel()
        passed.cancel()
        # What was left behind or killed ends now, unless a launcher does not answer.
        await self.worker.attempts.wait_quiet(_LAST_ENDS)

    def _declared_dead(self) -> None:
        self.worker.declared_dead = True
        self._fence.fall(silent=self._silent())

    def _on_beat(self, beat: Beat) -> None:
        if beat.state is None:
            self._loop.call_soon_threadsafe(self._declared_dead)
            return
        self._loop.call_soon_threadsafe(self.worker.leave_to_others, beat.foreign)
        self._loop.call_soon_threadsafe(self.drain_watcher.on_state, beat.state)


def _what_goes_on(attempt: Attempt) -> str:
    if attempt.definition.isolation is Isolation.THREAD:
        return "thread"
    steps = sorted(attempt.host.steps_at_work)
    return f"thread of step {', '.join(steps)}" if steps else "coroutine, which swallows cancels,"
