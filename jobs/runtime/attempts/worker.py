"""Takes runs as slots allow and has them executed."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from typing_extensions import override

from ...base.services import Services
from ...core.base.lazy import LazyModule
from ...core.model import Isolation
from ...core.nodes import Node
from ...core.outcome import JobOutcome
from ...queue.claims.claim import Claimant, Standing, Started
from ...queue.claims.fairness import CountingScheme, FairnessState
from ...queue.losses import disown, hand_back
from ...queue.turn import NodeQueue, Order, Turn
from ...registry import JobDefinition, Registry
from ...store.db.transaction import Wake
from ...store.statements import runs as run_store
from ..base.service import Pulse, Service, whenever
from ..base.settings import EngineSettings
from ..live.writers import LogWriter, ProgressWriter
from ..process.finding import check_findable, findable, preloaded
from ..process.spawner import Spawner
from .attempts import Attempts
from .capacity import FULL_CLAIM, LULL, NO_ALLOWANCE, PARTS, PAUSE, Allowance, Capacity
from .child_bodies import LauncherSupervisor
from .threads import ThreadPool

if TYPE_CHECKING:
    from ..remote import supervisor
    from ..remote.supervisor import RemoteSupervisor
else:
    # Only nodes with jobs at engines load it.
    supervisor = LazyModule("cronograph.jobs.runtime.remote.supervisor")

log = logging.getLogger(__name__)


class _Taken(NamedTuple):
    """The result of one claim: whether there may be more to take at once, and whether to claim for other jobs now."""

    more: bool
    goes_on: bool


_NOTHING: Final = _Taken(more=False, goes_on=False)


class Worker(Service):
    """The executing part of a node.

    Under load one transaction stores the ends of attempts and fills the slots that they leave: a *turn*.

    Args:
        services: Database and API for jobs.
        registry: The jobs this node can run.
        settings: Slots, prefetch, grace.
        node: This process' node.
        on_held_back: Called when runs that it looked at have to wait for a slot or a token of their key.

    Attributes:
        attempts: The attempts under way.
        fenced: Set when this node's life must end: it was declared dead, or can store no more results.
        declared_dead: Others may have begun its runs again.
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
        on_held_back: Callable[[], None] | None = None,
    ) -> None:
        super().__init__("worker")
        self._database = services.database
        self._slots = settings.slots
        self._queue = NodeQueue(self._database, at_once=-(-settings.slots // PARTS), on_held_back=on_held_back)
        taken = [one for one in registry if settings.choice.takes_job(one.name, one.tags)]
        limits = {Isolation.THREAD: settings.thread_slots, Isolation.PROCESS: settings.child_slots}
        at_engines = [one for one in taken if one.isolation is Isolation.REMOTE]
        self._capacity = Capacity(taken, settings.slots, limits, apart=settings.remote_slots if at_engines else 0)
        self._prefetch = settings.prefetch
        self._fairness = FairnessState(CountingScheme.parse(settings.counting_scheme))
        in_process = [one for one in taken if one.isolation is Isolation.PROCESS]
        for definition in in_process:
            check_findable(definition)
        self._has_process_jobs = bool(in_process)
        self._claimant = Claimant(node.id, node.name, (), groups=settings.choice.groups)
        self.fenced = asyncio.Event()
        self.declared_dead = False
        self._work = asyncio.Event()
        self._cancels = asyncio.Event()
        preload = preloaded(in_process, registry.hooks, unless_set=settings.preload)
        spawner = Spawner(settings.launch, preload, findable(in_process, preload))
        places = min(settings.slots, settings.child_slots)
        self._launcher = LauncherSupervisor(
            self._database, node, self._capacity, spawner, places, self._look_again, lease=settings.lease
        )
        self.kill_stopped_children = self._launcher.kill_stopped
        self._threads = ThreadPool[JobOutcome](min(settings.slots, settings.thread_slots))
        self.attempts = Attempts(
            services,
            registry,
            logs,
            progress,
            settings=settings,
            capacity=self._capacity,
            threads=self._threads,
            children=self._launcher.children,
            on_free=self._work.set,
            on_fault=self._end_life,
        )
        self.remote = self._supervisor(services, settings, node, at_engines)
        self.attempts.finisher.on_foreign = self.leave_to_others
        self.attempts.finisher.go_on(self._heir, self._begin)
        self._reserved: list[int] = []
        self._taking = True
        # Held while the database is asked for runs: what it hands out is unknown here until the answer has come.
        self._claiming = asyncio.Lock()
        self._taker: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def _supervisor(
        self, services: Services, settings: EngineSettings, node: Node, jobs: Sequence[JobDefinition]
    ) -> "RemoteSupervisor | None":
        if not jobs:
            return None
        made = supervisor.supervisor_of(
            services, settings, node, jobs, room=lambda: settings.remote_slots - self.attempts.held[Isolation.REMOTE]
        )
        self.attempts.hand_out_to(made)
        return made

    @property
    def running(self) -> int:
        """Return the number of runs that execute now."""
        return len(self.attempts)

    @property
    def slots(self) -> dict[Isolation, tuple[int, int]]:
        """Return for each kind of job how many of its runs execute, and how many may."""
        return self._capacity.used(self.attempts.held)

    @property
    def pulses(self) -> tuple[Pulse, ...]:
        """Return the pulses of the part that takes runs, and of the part that stores their ends."""
        return self.pulse, self.attempts.finisher.pulse

    def on_wake(self, wakes: Wake) -> None:
        """Look for work or cancels."""
        if self.remote is not None:
            self.remote.on_wake(wakes)
        # A turn has seen what its own commit makes possible: it need not look again.
        if wakes & (Wake.RUNS | Wake.GROUPS) and (task := asyncio.current_task()) is not self._taker:
            if self.attempts.finisher.is_writer(task):
                self._capacity.ends_stored()
                self._work.set()
            else:
                self._look_again()
        if wakes & Wake.CANCEL:
            self._cancels.set()

    def leave_to_others(self, foreign: frozenset[str]) -> None:
        """Take no runs with these signatures: nodes with other versions of their jobs can run them."""
        if foreign != self._claimant.foreign:
            self._claimant = replace(self._claimant, foreign=foreign)
            # What is no longer left to others may be waiting.
            self._look_again()

    def poke(self) -> None:
        """Look for work and cancels."""
        self._look_again()
        self._cancels.set()
        if self.remote is not None:
            self.remote.poke()

    def _look_again(self) -> None:
        self._capacity.forget_empty()
        self._work.set()

    async def run(self) -> None:
        """Take and execute until stopped."""
        self.poke()
        async with asyncio.TaskGroup() as group:
            if self._has_process_jobs:
                group.create_task(self._launcher.supervise())
            if self.remote is not None:
                self.remote.start()
            group.create_task(self._take_work())
            group.create_task(whenever(self._cancels, self._look_for_cancels))

    async def _take_work(self) -> None:
        self._taker = asyncio.current_task()
        if self._taking:
            self._share_turns()
        try:
            await whenever(self._work, self._fill_up, service=self)
        finally:
            self.attempts.finisher.reclaim()

    def _share_turns(self) -> None:
        """Let ends and claims share transactions where one at a time can write; else ends have their own connection."""
        if self._queue.shares_turns:
            self.attempts.finisher.lend(self._work.set)

    async def _fill_up(self) -> None:
        more = True
        while more:
            await self._gather()
            more = await self._fill()
            self.passed(more=more)
            # What was started runs a little, so that its ends join the next turn.
            await asyncio.sleep(LULL if any(self.attempts.waiting.values()) else 0)

    async def _gather(self) -> None:
        """Wait until a claim pays off, but never for long."""
        if self._pays_off():
            return
        try:
            async with asyncio.timeout(FULL_CLAIM):
                while self._taking and not self._pays_off():
                    self._work.clear()
                    await self._work.wait()
        except TimeoutError:
            pass

    def _pays_off(self) -> bool:
        ended = self.attempts.finisher.waiting if self._queue.shares_turns else 0
        return self._capacity.pays_off(len(self.attempts) - ended - self.attempts.held[Isolation.REMOTE])

    async def _fill(self) -> bool:
        """Store ends and fill free slots; return whether there may be more to take at once."""
        more, tried = False, set[frozenset[Isolation]]()
        async with self._claiming:
            goes_on = True
            while self._taking and goes_on:
                taken = await self._take_turn(tried)
                more, goes_on = more or taken.more, taken.goes_on
        if tried:
            self._capacity.filled(is_full=more)
        return more

    async def _take_turn(self, tried: set[frozenset[Isolation]]) -> _Taken:
        """Claim once for jobs of kinds that were not ``tried`` together."""
        order, allowance = self._order(tried)
        claimant = replace(self._claimant, jobs=allowance.jobs, heavy=allowance.heavy)
        if not order.ended and not order.reserved and order.slots <= 0 and order.prefetch == 0:
            return _NOTHING
        began, notices = time.monotonic(), self._capacity.notices(allowance)
        try:
            result = await self._queue.take(claimant, self._fairness, order)
        except BaseException:
            self.attempts.finisher.give_back(order.ended)
            raise
        if order.ended:
            self.attempts.finisher.confirm(order.ended, result.finished)
        if result.standing is not Standing.TAKES:
            # A node that was asked to drain learns of it with the next heartbeat, and then ends this worker in order.
            if result.standing is Standing.DEAD:
                self.declared_dead = True
                self._end_life()
            else:
                self._take_no_more()
            return _NOTHING
        took = time.monotonic() - began
        goes_on = more = self._follow(order, result)
        if order.slots > 0:
            self._capacity.claimed(took)
            is_left = len(result.started) < order.slots and not result.more and result.next_job is None
            self._capacity.note_left(allowance, is_left=is_left)
            if not result.started and result.next_job is None:
                self._capacity.note_empty(allowance, notices)
            goes_on = self._capacity.keep_free(allowance, result.next_job) or more
        return _Taken(more, goes_on)

    def _order(self, tried: set[frozenset[Isolation]]) -> tuple[Order, Allowance]:
        """Return the order for the next turn, and the allowance that it is for."""
        # An end that the finisher is about to write by itself costs a whole turn more if it is taken along.
        ended = self.attempts.finisher.take() if self._queue.shares_turns else []
        held = self.attempts.held - self.attempts.held_by(ended)
        allowance = self._allowance(held, tried)
        reserved, self._reserved = self._reserved[: allowance.count], self._reserved[allowance.count :]
        ahead = max(0, self._prefetch - len(self._reserved)) if allowance.jobs else 0
        # With prefetch, wait until half of it is used up: one claim for many instead of one each.
        if len(reserved) == allowance.count and ahead * 2 < self._prefetch:
            ahead = 0
        room = allowance.room if allowance.heavy else None
        return Order(ended, reserved, allowance.count, ahead, room), allowance

    def _allowance(self, held: Counter[Isolation], tried: set[frozenset[Isolation]]) -> Allowance:
        """Return the largest allowance that was not tried yet, unless nothing was found for it a moment ago."""
        heavy = [kind for kind, count in self.attempts.heavy.items() if count]
        allowances = self._capacity.allowances(held, self.attempts.waiting, heavy)
        if not allowances and self._prefetch:
            return Allowance(self._capacity.jobs, 0)
        for allowance in allowances:
            if self._capacity.was_empty(allowance):
                # What can be taken now need not have been announced: an end of ours may have made it possible.
                self._set_timer(PAUSE)
            elif allowance.kinds not in tried:
                tried.add(allowance.kinds)
                return allowance
        return NO_ALLOWANCE

    def _follow(self, order: Order, result: Turn) -> bool:
        """Execute the started runs; return whether there may be more to take."""
        self._fairness = result.fairness
        self._reserved += result.reserved
        self._begin(result.started)
        if len(result.started) < order.slots and not result.more:
            self._set_timer(result.next_in)
        return result.more

    def _heir(self) -> Claimant | None:
        """Return the node, if it goes on with runs that wait for keys of those that end; None = claims decide."""
        jobs = self._capacity.unlimited if self._taking and not self._reserved else ()
        return replace(self._claimant, jobs=jobs) if jobs and not self.fenced.is_set() else None

    def _begin(self, started: Sequence[Started]) -> None:
        # What comes after the fence is closed with all that this life held.
        if not self.fenced.is_set():
            self.attempts.begin(started)

    def _set_timer(self, seconds: float | None) -> None:
        """Look again in ``seconds``, when the next run becomes available by time alone; None = do not."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            # A retry is due strictly after its time, hence the millisecond.
            delay = max(0.0, seconds) + 0.001
            self._timer = asyncio.get_running_loop().call_later(min(delay, 3600.0), self._look_again)

    async def _look_for_cancels(self) -> None:
        if len(self.attempts):
            self.attempts.cancel(await self._database.read(run_store.cancel_requests, self._claimant.node_id))

    @override
    async def stop(self) -> None:
        """End, and wait for the end; child processes end too."""
        await super().stop()
        if self.remote is not None:
            await self.remote.stop()
        self._threads.close()
        await self._launcher.close()
        await self.attempts.close()
        await self._queue.close()

    def _end_life(self) -> None:
        self._take_no_more()
        self.fenced.set()

    def _take_no_more(self) -> None:
        self._taking = False
        self._set_timer(None)
        self.attempts.finisher.reclaim()
        self._threads.recall_all()
        self._launcher.children.recall_all()

    async def stop_taking(self) -> None:
        """Take nothing new, and give back reserved runs; runs of a claim under way still begin."""
        self._take_no_more()
        if self.remote is not None:
            self.remote.let_go_at_once()
        async with self._claiming, self.attempts.finisher.writing:
            # The claim that was under way may have set it.
            self._set_timer(None)
            self._reserved = []
            await self._database.write(hand_back, {"node_id": self._claimant.node_id})
        if self.remote is not None:
            await self.remote.let_go()

    def take_again(self) -> None:
        """Take runs again after ``stop_taking``, or after the database said that this node drains."""
        if not self._taking and not self.fenced.is_set():
            self._taking = True
            if self.remote is not None:
                self.remote.take_again()
            self._share_turns()
            self._work.set()

    async def halt(self) -> None:
        """Stop looking for work at once, even in the middle of a claim; for a node that the others take for dead."""
        self._take_no_more()
        await super().stop()

    def ask_to_stop(self) -> None:
        """Take nothing new, and ask attempts to stop; nothing is waited for."""
        self._end_life()
        self.attempts.ask_to_stop()

    def kill(self) -> None:
        """Kill the child processes."""
        self._launcher.kill_all()

    async def disown_unknown(self) -> int:
        """Close runs that this node holds in the database but does not know; return how many.

        The answer of a claim can be lost after its commit. Nobody would ever execute or end these runs.
        """
        async with self._claiming, self.attempts.finisher.writing:
            known = self.attempts.run_ids | set(self._reserved)
            held = await self._database.read(run_store.held_by, self._claimant.node_id)
            if held <= known:
                return 0
            disowned = await self._database.write(disown, self._claimant.node_id, self._claimant.node, known)
        if disowned:
            log.warning("%d runs were held by this node without its knowledge; they are due again, or failed", disowned)
        return disowned
