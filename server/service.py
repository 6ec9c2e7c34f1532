"""The life of one server process: lock, migrate, recover, serve, drain, end."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from typing import Any

import uvloop

from ..graphql.context import LOCAL_ADMINISTRATOR, Context
from ..graphql.schema import create_schema
from ..graphql.transport.streams import OpenStreams
from ..jobs.registry import Registry
from ..jobs.runtime.clock import Clock
from ..jobs.runtime.live.feeds import LiveFeeds
from ..jobs.runtime.settings import EngineSettings
from ..jobs.runtime.wakeup import Wakeup
from ..jobs.services import Services
from ..jobs.store.db.database import Database
from ..jobs.store.db.filelock import FileLock, lock_for
from .allowed_documents import read_documents
from .api_caller import OwnApi
from .app import Parts, build_app
from .auth.setup_link import offer_setup
from .auth.sign_in import SignIn, person_behind
from .bind import Listener, listen, raise_file_limit
from .collector import leave_out_what_stays
from .database_schema import migrate
from .engine_thread import EngineThread
from .exposure import check_administrator
from .forwarded import parse_networks
from .http_server import HttpServer
from .lifecycle import Lifecycle, Phase
from .own_documents import own_documents
from .pages import FOLDER, Site
from .secret_keys import key_source
from .settings import Settings
from .stopping import StopRequest
from .version import installed_version

log = logging.getLogger("cronograph")

SWITCH_SECONDS = 0.0005
"""How long a thread that computes keeps the interpreter from the others. Python's own 5 ms are paid by the loop of the
jobs at every answer of the database while a costly request is executed: starts came three times as late."""


@dataclass(slots=True)
class Service:
    """One server process.

    Attributes:
        settings: In force.
        registry: The jobs it can run.
        on_ready: Called once it serves, with its address and the name of its node.
        prepare: Called with the database before that; the demo makes its tasks there.
        lifecycle: Its phase.
        clock: The clocks of this process; tests give one that they can set.
        left_behind: Coroutines of jobs that swallowed every cancel and were still there when all else had ended.
    """

    settings: Settings
    registry: Registry
    on_ready: Callable[[str, str], None]
    prepare: Callable[[Database], Awaitable[None]] | None = None
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    clock: Clock = field(default_factory=Clock)
    left_behind: list[str] = field(default_factory=list[str], init=False)

    def run(self) -> None:
        """Serve until a signal asks for the end; returns after an orderly stop.

        Raises:
            ConfigurationError: the settings cannot work here.
            CannotListenError: the port is in use.
            FileLocked: another process uses the SQLite file.
            StorageError: the database cannot be used.
        """
        lock = lock_for(self.settings.database_url)
        # The file first: who may not use it must not answer in the place of the one who may.
        _acquire(lock)
        sys.setswitchinterval(SWITCH_SECONDS)
        leave_out_what_stays()
        try:
            check_administrator(self.settings)
            listener = self._listener()
            raise_file_limit()
            with closing(listener), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve(listener))
        finally:
            if lock is not None:
                lock.release()

    def _listener(self) -> Listener:
        settings = self.settings
        tls = settings.tls_cert is not None
        return listen(settings.host, settings.port, public_url=settings.public_url, tls=tls)

    async def _serve(self, listener: Listener) -> None:
        stop = StopRequest(on_first=lambda: self.lifecycle.enter(Phase.DRAINING))
        parts = self._parts(listener, stop)
        tls = None
        if self.settings.tls_cert is not None and self.settings.tls_key is not None:
            tls = (self.settings.tls_cert, self.settings.tls_key)
        http = HttpServer(build_app(parts), message_bytes=parts.schema.limits.body_bytes, tls=tls)
        with stop.listening():
            serving = asyncio.create_task(http.serve(list(listener.sockets)), name="cronograph-http")
            try:
                await _first_of(self._start(parts, listener), stop.wait())
                watching = [] if parts.sign_in is None else [parts.sign_in.watch.run()]
                await _first_of(stop.wait(), serving, *watching)
            finally:
                self.lifecycle.enter(Phase.DRAINING)
                await _ended(parts, http, serving)
                self.left_behind = parts.engine.left_behind
        log.info("stopped")

    def _parts(self, listener: Listener, stop: StopRequest) -> Parts:
        """What the server is made of: all in this event loop, but for the engine."""
        settings = engine_settings(self.settings)
        schema = create_schema()
        of_engine = Database(self.settings.database_url)
        # Its own connections: what the API reads cannot use up those of the engine, nor the other way round.
        database = of_engine.beside("api")
        wakeup = Wakeup(database)
        feeds = LiveFeeds(database, wakeup, poll=settings.poll_for(is_sqlite=database.is_sqlite))
        keys = key_source(self.settings)
        sign_in = None if self.settings.no_auth else SignIn(database, listener.url, listener.hosts, self.settings.oidc)

        async def context_of(submitter: str | None) -> Context:
            person = LOCAL_ADMINISTRATOR if sign_in is None else await person_behind(database, submitter)
            return Context(database, feeds.bus, feeds.log_feed, person, keys=keys)

        api = OwnApi(schema, context_of)
        services = Services(of_engine, api, self.settings.http_allow, keys)
        engine = EngineThread(
            services, self.registry, settings, wakeup, beside=database, on_drained=stop.request, clock=self.clock
        )
        return Parts(
            schema=schema,
            database=database,
            costly=of_engine.beside("api-costly"),
            of_engine=of_engine,
            engine=engine,
            wakeup=wakeup,
            feeds=feeds,
            lifecycle=self.lifecycle,
            streams=OpenStreams(schema.limits.open_streams),
            hosts=listener.hosts,
            proxies=parse_networks(self.settings.trusted_proxies),
            site=Site(),
            sign_in=sign_in,
            keys=keys,
            allow_list=self._allow_list(),
        )

    def _allow_list(self) -> dict[str, str] | None:
        path = self.settings.allowed_documents
        if path is None:
            return None
        listed = read_documents(path)
        log.info("only listed documents run: the %d of %s, the dashboard's and the command line's", len(listed), path)
        return listed | own_documents(FOLDER)

    async def _start(self, parts: Parts, listener: Listener) -> None:
        self.lifecycle.enter(Phase.MIGRATING)
        applied = await asyncio.to_thread(migrate, self.settings.database_url)
        if applied:
            log.info("database schema brought to revision %s", applied[-1])
        self.lifecycle.enter(Phase.RECOVERING)
        parts.wakeup.start()
        parts.feeds.start()
        await parts.engine.start()
        if self.prepare is not None:
            await self.prepare(parts.database)
        if parts.sign_in is not None:
            await offer_setup(parts.database, listener.url)
        self.lifecycle.enter(Phase.SERVING)
        self.on_ready(listener.url, parts.engine.node_name or "")


async def _first_of(*work: Coroutine[Any, Any, None] | asyncio.Task[None]) -> None:
    """Until one is done; the other coroutines are cancelled, tasks live on. Raises what that one raised."""
    tasks = [one if isinstance(one, asyncio.Task) else asyncio.create_task(one) for one in work]
    done, unfinished = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    own = [task for task in unfinished if not any(task is one for one in work)]
    for task in own:
        task.cancel()
    await asyncio.gather(*own, return_exceptions=True)
    for task in done:
        task.result()


async def _ended(parts: Parts, http: HttpServer, serving: asyncio.Task[None]) -> None:
    """The orderly end: jobs first, while the server still answers; then readers, connections, and the database.

    A step that fails (the database is away, say) does not keep the later ones from being taken.
    """
    engine, feeds = parts.engine, parts.feeds
    if engine.ready:
        words = "stopping: nothing new is taken, %d running jobs may finish; a second signal ends at once"
        log.info(words, engine.running)

    async def close_http() -> None:
        http.finish()
        await serving

    first_to_last = (
        engine.drain,
        parts.streams.shutdown,
        close_http,
        engine.stop,
        feeds.end,
        feeds.stop,
        parts.wakeup.stop,
        parts.costly.close,
        parts.database.close,
        parts.of_engine.close,
    )
    async with AsyncExitStack() as steps:
        # Callbacks run last in, first out.
        if parts.sign_in is not None:
            steps.callback(parts.sign_in.close)
        for step in reversed(first_to_last):
            steps.push_async_callback(step)


def _acquire(lock: FileLock | None) -> None:
    if lock is not None:
        lock.acquire()


def engine_settings(settings: Settings) -> EngineSettings:
    """The part of the settings that concerns the engine."""
    return EngineSettings(
        node_name=settings.node_name,
        slots=settings.slots,
        thread_slots=settings.thread_slots,
        prefetch=settings.prefetch,
        counting_scheme=settings.counting_scheme,
        heartbeat=settings.heartbeat,
        lease=settings.lease,
        drain_timeout=settings.drain_timeout,
        hard_stop_grace=settings.hard_stop_grace,
        poll=settings.poll,
        thread_logs=settings.thread_logs,
        version=installed_version(),
    )
