"""The life of one server process: lock, migrate, recover, serve, drain, end."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, closing, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import uvloop

from ..jobs.core.base.errors import StorageError
from ..jobs.core.base.lazy import LazyModule
from ..jobs.registry import Registry
from ..jobs.runtime.base.settings import Clock
from ..jobs.store.db.address import without_password
from ..jobs.store.db.database import Database
from ..jobs.store.db.faults import first_line, kind_of
from ..jobs.store.db.filelock import FileLock, lock_for
from .configuration.secret_keys import key_source
from .configuration.settings import Settings
from .http.bind import Listener, listen, raise_file_limit
from .http.server import HttpServer
from .http.side_port import DEFAULT_PORT, side_listener, side_port
from .installation import Installation
from .preparation import check_administrator
from .process.lifecycle import READY, STOPPING, Lifecycle, Phase, StopRequest, leave_out_what_stays, notify

if TYPE_CHECKING:
    from .task_files import applying
else:
    # With the parser of YAML: for servers that have files of tasks.
    applying = LazyModule(f"{__package__}.task_files.applying")

log = logging.getLogger("cronograph")

SWITCH_SECONDS = 0.0005
"""Seconds for which a computing thread keeps the interpreter. With Python's own 5 ms, the loop of jobs waits at each
answer of the database while a costly request is executed: starts came three times as late."""


@dataclass(slots=True)
class Service:
    """One server process.

    Attributes:
        registry: The jobs it can run.
        on_ready: Called once it serves, with its address and the name of its node.
        prepare: Called with the database before that; the demo makes its tasks there.
        clock: The clocks of this process; tests give one that they can set.
        serves_api: Whether people and programs are answered; else the process only works, and its port serves no more
            than health and metrics.
        left_behind: Coroutines of jobs that swallowed every cancel and were still there when all else had ended.
        fault: Why the event loop of the jobs had ended, where that was the reason of the stop.
    """

    settings: Settings
    registry: Registry
    on_ready: Callable[[str, str], None]
    prepare: Callable[[Database], Awaitable[None]] | None = None
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    clock: Clock = field(default_factory=Clock)
    serves_api: bool = True
    left_behind: list[str] = field(default_factory=list[str], init=False)
    fault: str | None = field(default=None, init=False)
    _files: "applying.TaskFiles | None" = field(default=None, init=False)

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
            if self.serves_api:
                check_administrator(self.settings)
            listener = self._listener()
            raise_file_limit()
            with closing(listener), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve(listener))
        finally:
            if lock is not None:
                lock.release()

    def _begin_to_stop(self) -> None:
        self.lifecycle.enter(Phase.DRAINING)
        notify(STOPPING)

    def _listener(self) -> Listener:
        settings = self.settings
        if not self.serves_api:
            port = DEFAULT_PORT if settings.metrics_port is None else settings.metrics_port
            return side_listener(settings.metrics_host, port)
        tls = settings.tls_cert is not None
        return listen(settings.host, settings.port, public_url=settings.public_url, tls=tls)

    async def _serve(self, listener: Listener) -> None:
        stop = StopRequest(on_first=self._begin_to_stop, on_hang_up=self._read_again)
        made = Installation(
            self.settings,
            self.registry,
            listener.url,
            listener.hosts,
            stop.request,
            self.lifecycle,
            self.clock,
            serves_api=self.serves_api,
        )
        tls = None
        if self.serves_api and self.settings.tls_cert is not None and self.settings.tls_key is not None:
            tls = (self.settings.tls_cert, self.settings.tls_key)
        http = HttpServer(made.asgi, message_bytes=made.parts.schema.limits.body_bytes, tls=tls)
        async with AsyncExitStack() as around:
            around.enter_context(stop.listening())
            await around.enter_async_context(self._side_port(made))
            serving = asyncio.create_task(http.serve(list(listener.sockets)), name="cronograph-http")

            async def close_http() -> None:
                http.finish()
                await serving

            try:
                await _first_of(self._start(made), stop.wait(), made.parts.engine.ended())
                await _first_of(stop.wait(), serving, made.parts.engine.ended())
            finally:
                await made.end(close_http)
                self.left_behind, self.fault = made.parts.engine.left_behind, made.parts.engine.fault
        log.info("stopped")

    def _side_port(self, made: Installation) -> AbstractAsyncContextManager[None]:
        if not self.serves_api:
            return nullcontext()
        return side_port(self.settings, self.lifecycle, lambda: made.parts.engine.ready, made.metrics)

    async def _prepare(self, database: Database) -> None:
        """Prepare the tables before this process serves."""
        if self.prepare is not None:
            await self.prepare(database)
        if self.settings.tasks is not None:
            files = applying.TaskFiles(self.settings.tasks, database, key_source(self.settings))
            self._files = files
            await files.apply()

    def _read_again(self) -> None:
        if self._files is not None:
            self._files.apply_again()
        elif self.settings.tasks is None:
            log.info("SIGHUP: there is no file to read again; name files of tasks with --tasks")

    async def _start(self, made: Installation) -> None:
        try:
            await made.start(self._prepare)
        except Exception as error:
            if isinstance(error, StorageError) or not kind_of(error).passes:
                raise
            where = without_password(self.settings.database_url)
            raise StorageError(f"database {where}: is unavailable: {first_line(error)}") from error
        self.on_ready(made.url, made.parts.engine.node_name or "")
        notify(READY)


async def _first_of(*work: Coroutine[Any, Any, None] | asyncio.Task[None]) -> None:
    """Wait until one is done and raise its error, if any; other coroutines are cancelled, tasks live on."""
    tasks = [one if isinstance(one, asyncio.Task) else asyncio.create_task(one) for one in work]
    done, unfinished = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    own = [task for task in unfinished if not any(task is one for one in work)]
    for task in own:
        task.cancel()
    await asyncio.gather(*own, return_exceptions=True)
    for task in done:
        task.result()


def _acquire(lock: FileLock | None) -> None:
    if lock is not None:
        lock.acquire()
