"""What a node opens for its jobs before it takes runs, and closes after the last of them."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from ..core.base.errors import ConfigurationError
from ..own.threads import in_own_thread
from ..registry.hooks import Hooks, Manager, Resource
from .job.ownership import Outsider, is_asked_to_end

log = logging.getLogger(__name__)


class NodeResources:
    """All of it is opened and closed by one task, because a task group, for one, is left where it was entered.

    Attributes:
        opened: By what it gives; complete once ``open`` has returned.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._order = hooks.of_node()
        self.opened: dict[Any, object] = {}
        self._closing = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    async def open(self) -> Mapping[Any, object]:
        """Open everything, in order.

        Raises:
            ConfigurationError: one of them cannot be opened; names it. What was open is closed again.
        """
        if self._order:
            ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            context = Outsider("a resource of the node").context()
            self._keeper = asyncio.create_task(self._keep(ready), name="cronograph-resources", context=context)
            await asyncio.wait([ready, self._keeper], return_when=asyncio.FIRST_COMPLETED)
            if self._keeper.cancelled():
                raise ConfigurationError("a resource of the node cancelled its own task while it was opened")
            if self._keeper.done():
                self._keeper.result()
        return self.opened

    async def close(self) -> None:
        """Close everything, in the opposite order; what fails is logged. Twice, or without ``open``, is fine."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            self._closing.set()
            await asyncio.wait([keeper])

    async def _keep(self, ready: "asyncio.Future[None]") -> None:
        entered: list[tuple[Resource, Manager]] = []
        try:
            for one in self._order:
                manager = one.manager(self.opened)
                self.opened[one.kind] = await _enter(one, manager)
                entered.append((one, manager))
            ready.set_result(None)
            await self._closing.wait()
        finally:
            # Each by itself: that one cannot be closed is nothing that the others should see.
            for one, manager in reversed(entered):
                await _leave(one, manager)


async def _enter(resource: Resource, manager: Manager) -> object:
    try:
        if isinstance(manager, AbstractAsyncContextManager):
            return await manager.__aenter__()
        # It may block.
        return await in_own_thread(manager.__enter__)
    except BaseException as error:
        if is_asked_to_end(error):
            raise
        raise ConfigurationError(
            f"resource {resource.where} could not be opened: {type(error).__name__}: {error}"
        ) from error


async def _leave(resource: Resource, manager: Manager) -> None:
    try:
        if isinstance(manager, AbstractAsyncContextManager):
            await manager.__aexit__(None, None, None)
        else:
            await in_own_thread(manager.__exit__, None, None, None)
    except BaseException as error:
        if is_asked_to_end(error):
            raise
        log.error("resource %s could not be closed", resource.where, exc_info=error)
