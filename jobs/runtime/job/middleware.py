"""What surrounds the code of a job: its hooks outside, and inside these the resources of its attempt.

A hook that fails is logged, and nothing else changes. A resource is a part of the attempt, and fails it.
"""

import asyncio
import contextvars
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, ExitStack
from typing import Any

from ...base.context import JobContext
from ...core.model import Isolation
from ...registry import JobDefinition, Registry
from ...registry.hooks import Hook, Hooks, Manager

log = logging.getLogger(__name__)

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
        """Leave them; ``error`` is what the job raised."""
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
    """Whether it says that the attempt is cancelled; a hook may raise the same by itself, and changes nothing by it."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _details(error: BaseException | None) -> tuple[Any, Any, Any]:
    return (None, None, None) if error is None else (type(error), error, error.__traceback__)


class Middleware:
    """Of the attempts of one job.

    Args:
        definition: The job.
        hooks: What is declared in addition to it.
        opened: The resources that are open already, by what they give.

    Raises:
        ConfigurationError: nobody gives what the job takes.
    """

    def __init__(self, definition: JobDefinition, hooks: Hooks, opened: Mapping[Any, object]) -> None:
        self._definition = definition
        self._hooks = hooks.of_job(definition.name)
        self._opened = opened
        self._own = tuple(hooks.needed(definition.given.values(), opened))

    @property
    def modules(self) -> list[str]:
        """Where all of it is declared: a child process has to import that to find it."""
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
        """Of a plain handler: the hooks that need an event loop, which go around ``call``."""
        return HookStack([hook for hook in self._hooks if hook.is_async], context)

    def call_without_loop(self, context: JobContext, arguments: Arguments) -> Any:  # noqa: ANN401 - what the job returns
        """``call`` where no event loop runs: one runs before and after it, for the hooks that need one."""
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
    """What surrounds the attempts of a job; None if nothing does."""
    if not definition.given and not hooks.of_job(definition.name):
        return None
    return Middleware(definition, hooks, opened)


def middleware_of_all(registry: Registry, opened: Mapping[Any, object]) -> dict[str, Middleware]:
    """Of those jobs that have any, by name; a child process opens what its job takes itself."""
    found = {
        one.name: middleware_of(one, registry.hooks, {} if one.isolation is Isolation.PROCESS else opened)
        for one in registry
    }
    return {name: one for name, one in found.items() if one is not None}
