"""The engine in an event loop and a thread of its own: what a job does to that loop does not touch the API."""

from collections.abc import Callable

import uvloop

from ..jobs.registry import Registry
from ..jobs.runtime.engine import Engine
from ..jobs.runtime.loop_thread import LoopThread
from ..jobs.runtime.settings import EngineSettings
from ..jobs.runtime.wakeup import Wakeup
from ..jobs.services import Services

THREAD = "cronograph-engine"

CLOSE_SECONDS = 5.0
"""What is left in the engine's loop after its stop has so long to end."""


class EngineThread:
    """One engine; its methods are called from another event loop, its properties from any thread.

    Args:
        services: The database (migrated before ``start``) and the API for jobs.
        registry: The jobs this node can run.
        settings: How the node works.
        wakeup: Tells of commits.
        on_drained: See ``Engine``; called in the engine's thread.
    """

    def __init__(
        self,
        services: Services,
        registry: Registry,
        settings: EngineSettings,
        wakeup: Wakeup,
        on_drained: Callable[[], None],
    ) -> None:
        settings.check()

        def make() -> Engine:
            return Engine(services, registry, settings, on_drained=on_drained, wakeup=wakeup)

        self._make = make
        self._engine: Engine | None = None
        self.thread = LoopThread(THREAD, uvloop.new_event_loop)

    @property
    def ready(self) -> bool:
        """Whether the engine has recovered what a dead process left, and takes runs."""
        return self._engine is not None and self._engine.ready

    @property
    def node_name(self) -> str | None:
        """The node's name, once it is registered."""
        return self._engine.node_name if self._engine is not None else None

    @property
    def running(self) -> int:
        """How many runs execute now."""
        return self._engine.running if self._engine is not None else 0

    async def start(self) -> None:
        """Start the thread, and in it the engine. Once only."""
        self.thread.start()

        async def begin() -> None:
            self._engine = self._make()
            await self._engine.start()

        await self.thread.run(begin)

    async def drain(self) -> None:
        """Let running jobs end, see ``Engine.drain``; nothing happens before the start."""
        if self._engine is not None:
            await self.thread.run(self._engine.drain)

    async def stop(self) -> None:
        """Stop the engine, see ``Engine.stop``, and end its thread; nothing happens before the start."""
        if self._engine is not None:
            await self.thread.run(self._engine.stop)
        await self.thread.close(CLOSE_SECONDS)
