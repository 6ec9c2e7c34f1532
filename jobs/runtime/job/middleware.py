"""The surroundings of a job's code: its hooks outside, and inside these resources, of its attempt or of its node.

A hook that fails is logged, and nothing else changes. A resource is a part of the attempt, and fails it.
"""

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, ExitStack
from typing import Any, TypeVar

from ...base.context import JobContext
from ...core.base.errors import ConfigurationError
from ...core.model import Isolation
from ...own.threads import in_own_thread
from ...registry import JobDefinition, Registry
from ...registry.hooks import Hook, Hooks, Manager, Resource
from .ownership import Outsider, is_asked_to_end

T = TypeVar("T")

log = logging.getLogger(__name__)


class NodeResources:
    """All of it is opened and closed by one task, because a task group, for one, is left where it was entered.

    Attributes:
        opened: The open resources by type; complete once ``open`` has returned.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._order = hooks.of_node()
        self.opened: dict[Any, object] = {}
        self._closing = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    async def open(self) -> Mapping[Any, object]:
        """Open everything, in order.

        Raises:
            ConfigurationError: one of them cannot be opened; names it. Resources that were open are closed again.
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
        """Close everything, in the opposite order; failures are logged. Twice, or without ``open``, is fine."""
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


class KeptResources:
    """The resources of a child process: opened for the first run, closed after the last one."""

    def __init__(self) -> None:
        self.opened: Mapping[Any, object] = {}
        self._stack = ExitStack()
        self._runner: asyncio.Runner | None = None
        self._closing: asyncio.Event | None = None
        self._keeper: asyncio.Task[None] | None = None

    def open(self, needed: Sequence[Resource]) -> None:
        """Open the resources that need no event loop, once; open ones stay so.

        Raises:
            Exception: one of them cannot be opened.
        """
        if not self.opened and needed:
            opened: dict[Any, object] = {}
            for one in needed:
                opened[one.kind] = self._stack.enter_context(one.manager(opened))  # type: ignore[arg-type] # asynchronous ones are refused for a plain job
            self.opened = opened

    def run(self, needed: Sequence[Resource], handle: Callable[[], Awaitable[T]]) -> T:
        """Await ``handle()`` in the event loop of this process, in a context of its own, with its resources open.

        Tasks that it leaves are cancelled, as ``asyncio.run`` does.
        """
        if self._runner is None:
            self._runner = self._stack.enter_context(asyncio.Runner())
        return self._runner.run(self._handled(needed, handle), context=contextvars.copy_context())

    async def _handled(self, needed: Sequence[Resource], handle: Callable[[], Awaitable[T]]) -> T:
        if self._keeper is None and needed:
            await self._open_in_loop(needed)
        stay = asyncio.all_tasks()
        try:
            return await handle()
        finally:
            left = asyncio.all_tasks() - stay
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _open_in_loop(self, needed: Sequence[Resource]) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # One task opens and closes all of it: a task group, for one, is left where it was entered.
        self._closing = asyncio.Event()
        self._keeper = asyncio.create_task(self._keep(needed, ready, self._closing))
        await asyncio.wait([ready, self._keeper], return_when=asyncio.FIRST_COMPLETED)
        if self._keeper.done():
            self._keeper.result()

    async def _keep(self, needed: Sequence[Resource], ready: "asyncio.Future[None]", closing: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            opened: dict[Any, object] = {}
            for one in needed:
                manager = one.manager(opened)
                if isinstance(manager, AbstractAsyncContextManager):
                    opened[one.kind] = await stack.enter_async_context(manager)
                else:
                    opened[one.kind] = stack.enter_context(manager)
            self.opened = opened
            ready.set_result(None)
            await closing.wait()

    def close(self) -> None:
        """Close all of it, in the opposite order.

        Raises:
            Exception: one of them could not be closed.
        """
        with self._stack:
            if self._runner is not None and self._keeper is not None and self._closing is not None:
                self._closing.set()
                self._runner.run(_ended(self._keeper))


async def _ended(keeper: asyncio.Task[None]) -> None:
    await keeper


Arguments = Mapping[str, Any]


class HookStack:
    """The hooks around one attempt: entered in their order, left in the opposite one."""

    def __init__(self, hooks: Sequence[Hook], context: JobContext) -> None:
        self._hooks = hooks
        self._context = context
        self._entered: list[tuple[Hook, Manager]] = []

    async def enter(self) -> None:
        """Enter hooks of both kinds in the event loop."""
        for hook in self._hooks:
            manager = hook.manager(self._context)
            try:
                if isinstance(manager, AbstractAsyncContextManager):
                    await manager.__aenter__()
                else:
                    manager.__enter__()
            except BaseException as error:
                if _cancels(error):
                    await self.leave(error)
                    raise
                self._complain(hook, error)
            else:
                self._entered.append((hook, manager))

    async def leave(self, error: BaseException | None) -> None:
        """Leave them; ``error`` is the job's error."""
        cancel: BaseException | None = None
        while self._entered:
            hook, manager = self._entered.pop()
            try:
                if isinstance(manager, AbstractAsyncContextManager):
                    await manager.__aexit__(*_details(error))
                else:
                    manager.__exit__(*_details(error))
            except BaseException as fault:
                if fault is not error and _cancels(fault):
                    # The attempt is cancelled while a hook ends: the others still do.
                    cancel = fault
                else:
                    self._complain_unless(error, hook, fault)
        if cancel is not None:
            raise cancel

    async def __aenter__(self) -> None:
        await self.enter()

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        await self.leave(error)

    def __enter__(self) -> None:
        """Enter hooks that need no event loop."""
        for hook in self._hooks:
            manager = hook.manager(self._context)
            assert isinstance(manager, AbstractContextManager)
            try:
                manager.__enter__()
            except BaseException as error:
                self._complain(hook, error)
            else:
                self._entered.append((hook, manager))

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        while self._entered:
            hook, manager = self._entered.pop()
            assert isinstance(manager, AbstractContextManager)
            try:
                manager.__exit__(*_details(error))
            except BaseException as fault:
                self._complain_unless(error, hook, fault)

    def _complain_unless(self, error: BaseException | None, hook: Hook, fault: BaseException) -> None:
        if fault is not error:
            self._complain(hook, fault)

    def _complain(self, hook: Hook, error: BaseException) -> None:
        info = self._context.info
        words = "hook %s failed around run %d of job '%s', which goes on without it"
        log.error(words, hook.where, info.run_id, info.job_name, exc_info=error)


def _cancels(error: BaseException) -> bool:
    """Return whether it cancels the attempt; a hook may raise the same by itself, and changes nothing by it."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _details(error: BaseException | None) -> tuple[Any, Any, Any]:
    return (None, None, None) if error is None else (type(error), error, error.__traceback__)


class Middleware:
    """Of the attempts of one job.

    Args:
        hooks: Hooks declared in addition to it.
        opened: The resources that are open already, by type.

    Raises:
        ConfigurationError: nobody gives a resource that the job takes.
    """

    def __init__(self, definition: JobDefinition, hooks: Hooks, opened: Mapping[Any, object]) -> None:
        self._definition = definition
        self._hooks = hooks.of_job(definition.name)
        self._opened = opened
        self._own = tuple(hooks.needed(definition.given.values(), opened))

    @property
    def modules(self) -> list[str]:
        """The modules that declare the hooks and resources: a child process imports them."""
        functions = [hook.function for hook in self._hooks] + [one.function for one in self._own]
        return sorted({function.__module__ for function in functions})

    async def in_loop(self, context: JobContext, arguments: Arguments) -> Any:  # noqa: ANN401 - what the job returns
        """Await the handler within all of them."""
        async with HookStack(self._hooks, context):
            return await self._with_resources(arguments)

    async def _with_resources(self, arguments: Arguments) -> Any:  # noqa: ANN401 - what the job returns
        raised: BaseException | None = None
        async with AsyncExitStack() as stack:
            try:
                opened = dict(self._opened)
                for one in self._own:
                    manager = one.manager(opened)
                    if isinstance(manager, AbstractAsyncContextManager):
                        opened[one.kind] = await stack.enter_async_context(manager)
                    else:
                        opened[one.kind] = stack.enter_context(manager)
                return await self._definition.handler(**arguments, **self._given(opened))
            except BaseException as error:
                raised = error
                raise
        # A resource that swallows an exception must not make a success of a failure.
        raise raised or RuntimeError("a resource ended without the job")

    def call(self, context: JobContext, arguments: Arguments) -> Any:  # noqa: ANN401 - what the job returns
        """Call a plain handler within the hooks and resources that need no event loop."""
        with HookStack([hook for hook in self._hooks if not hook.is_async], context):
            return self._with_plain_resources(arguments)

    def _with_plain_resources(self, arguments: Arguments) -> Any:  # noqa: ANN401 - what the job returns
        raised: BaseException | None = None
        with ExitStack() as stack:
            try:
                opened = dict(self._opened)
                for one in self._own:
                    manager = one.manager(opened)
                    assert isinstance(manager, AbstractContextManager), "the registry has refused others"
                    opened[one.kind] = stack.enter_context(manager)
                return self._definition.handler(**arguments, **self._given(opened))
            except BaseException as error:
                raised = error
                raise
        raise raised or RuntimeError("a resource ended without the job")

    def outside(self, context: JobContext) -> HookStack:
        """Return the hooks of a plain handler that need an event loop, which go around ``call``."""
        return HookStack([hook for hook in self._hooks if hook.is_async], context)

    def call_without_loop(self, context: JobContext, arguments: Arguments) -> Any:  # noqa: ANN401 - what the job returns
        """Call where no event loop runs: one runs before and after the call, for the hooks that need one."""
        around = self.outside(context)
        inside = contextvars.copy_context()
        raised: BaseException | None = None
        with asyncio.Runner() as runner:
            runner.run(around.enter(), context=inside)
            try:
                return inside.run(self.call, context, arguments)
            except BaseException as error:
                raised = error
                raise
            finally:
                runner.run(around.leave(raised), context=inside)

    def _given(self, opened: Mapping[Any, object]) -> dict[str, object]:
        return {name: opened[kind] for name, kind in self._definition.given.items()}


def middleware_of(definition: JobDefinition, hooks: Hooks, opened: Mapping[Any, object]) -> Middleware | None:
    """Return the hooks and resources around the attempts of a job; None if there are none."""
    if not definition.given and not hooks.of_job(definition.name):
        return None
    return Middleware(definition, hooks, opened)


def middleware_of_all(registry: Registry, opened: Mapping[Any, object]) -> dict[str, Middleware]:
    """Return the middleware of the jobs that have any, by name; a child process opens its job's resources itself."""
    found = {
        one.name: middleware_of(
            one, registry.hooks, {} if one.isolation in (Isolation.PROCESS, Isolation.REMOTE) else opened
        )
        for one in registry
    }
    return {name: one for name, one in found.items() if one is not None}
