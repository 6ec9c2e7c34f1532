"""``@job(batch=…)``: runs that wait for each other are carried out by one call of the function."""

import asyncio
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, ContextVar
from functools import wraps
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from ..base.context import JobContext, current_host
from ..own.threads import in_own_thread
from .policies import Batch

_LISTS: Final = (list, Sequence)

alone: Final[ContextVar[bool]] = ContextVar("cronograph_alone", default=False)
"""True if no other run can come: each is a call of its own, and waits for nobody."""


def batched(function: Callable[..., Any], batch: object, hints: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the handler of one run, which waits for a call of the function that has its item.

    Args:
        function: Takes a list of items, and perhaps resources; returns a list of the same length, or None.
        batch: The ``Batch``.
        hints: The annotations of the function.

    Raises:
        ValueError: the function takes no list, or ``batch`` is none.
    """
    if not isinstance(batch, Batch):
        raise ValueError(f"batch: must be a Batch, e.g. Batch(size=100, wait='200ms'), got {batch!r:.60}")  # noqa: TRY004 - one fault among others
    signature = inspect.signature(function)
    name, item = _items_of(signature, hints)
    gatherings: WeakKeyDictionary[asyncio.AbstractEventLoop, _Gathering] = WeakKeyDictionary()

    @wraps(function)
    async def handler(**given: Any) -> Any:  # noqa: ANN401 - what one item gets
        loop = asyncio.get_running_loop()
        gathering = gatherings.get(loop)
        if gathering is None:
            gathering = gatherings[loop] = _Gathering(function, batch, name)
        return await gathering.put(given)

    parameters = [
        one.replace(annotation=item) if one.name == name else one.replace(annotation=hints.get(one.name, Any))
        for one in signature.parameters.values()
    ]
    wrapper: Any = handler
    wrapper.__signature__ = inspect.Signature(parameters)
    wrapper.__annotations__ = {**{one: hints[one] for one in hints if one != "return"}, name: item}
    return handler


def _items_of(signature: inspect.Signature, hints: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the parameter that takes the items, and the type of one."""
    if any(hints.get(name) is JobContext for name in signature.parameters):
        raise ValueError("batch: one call is for many runs, so its function takes no JobContext; leave it out")
    lists = [name for name in signature.parameters if typing.get_origin(hints.get(name)) in _LISTS]
    if len(lists) != 1:
        shown = ", ".join(f"'{name}'" for name in lists) or "none"
        raise ValueError(
            f"batch: the function must have one parameter that is a list, e.g. texts: list[str], got {shown}"
        )
    (item,) = typing.get_args(hints[lists[0]])
    return lists[0], item


class _Call:
    """The runs that one call is for.

    Attributes:
        given: The arguments of each.
        answers: The future that each awaits.
        task: The call, once it is made.
    """

    def __init__(self) -> None:
        self.given: list[Mapping[str, Any]] = []
        self.answers: list[asyncio.Future[Any]] = []
        self.context = Context()
        self.task: asyncio.Task[None] | None = None

    def leave(self) -> None:
        """Note that one of its runs was stopped; when all were, the call is stopped as well."""
        if self.task is not None and all(one.done() for one in self.answers):
            self.task.cancel()


class _Gathering:
    """Gathers the runs of a job in one event loop."""

    def __init__(self, function: Callable[..., Any], batch: Batch, name: str) -> None:
        self._function = function
        self._batch = batch
        self._name = name
        self._next = _Call()
        self._timer: asyncio.TimerHandle | None = None

    async def put(self, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - what the function returns for it
        loop = asyncio.get_running_loop()
        call, answer = self._next, loop.create_future()
        call.given.append(given)
        call.answers.append(answer)
        if len(call.answers) == 1:
            # What the call logs and prints is kept with its first run.
            call.context.run(current_host.set, current_host.get())
            self._timer = loop.call_later(self._batch.seconds, self._begin, context=call.context)
        if len(call.answers) >= self._batch.size or alone.get():
            self._begin()
        try:
            return await answer
        except asyncio.CancelledError:
            call.leave()
            raise

    def _begin(self) -> None:
        call, self._next = self._next, _Call()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # In a context without any job: the call goes on if its first run is stopped.
        call.task = asyncio.get_running_loop().create_task(self._carry_out(call), context=call.context)

    async def _carry_out(self, call: _Call) -> None:
        wanted = [place for place, answer in enumerate(call.answers) if not answer.done()]
        if not wanted:
            return
        given = [call.given[place] for place in wanted]
        try:
            returned = await self._called({**given[0], self._name: [one[self._name] for one in given]})
            results = _results(returned, len(given))
        except BaseException as error:  # noqa: BLE001 - it is raised by each of its runs
            results = [error] * len(given)
        for place, result in zip(wanted, results, strict=True):
            if not call.answers[place].done():
                _settle(call.answers[place], result)

    async def _called(self, given: Mapping[str, Any]) -> object:
        if inspect.iscoroutinefunction(self._function):
            return cast("object", await self._function(**given))
        return cast("object", await in_own_thread(self._function, **given))


def _settle(answer: "asyncio.Future[Any]", result: object) -> None:
    if isinstance(result, BaseException) and not isinstance(result, StopIteration):
        answer.set_exception(result)
    else:
        answer.set_result(result)


def _results(returned: object, wanted: int) -> list[Any]:
    """Return the result of each run: nothing, its value, or the exception that fails it."""
    if returned is None:
        return [None] * wanted
    if not isinstance(returned, list | tuple) or len(cast("Sequence[object]", returned)) != wanted:
        got = (
            f"{len(cast('Sequence[object]', returned))} items" if isinstance(returned, list | tuple) else repr(returned)
        )
        raise ValueError(f"a batch of {wanted} must return None, or a list of {wanted} results, got {got:.60}")
    return [*cast("Sequence[object]", returned)]
