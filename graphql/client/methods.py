"""Turns functions that make operations into methods of a client, so that both clients have the same ones, once."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from .operation import Operation
from .subscription import Subscription

P = ParamSpec("P")
T = TypeVar("T")


class Blocking(Protocol):
    """What runs operations and waits for them."""

    def run_operation(self, operation: Operation[T]) -> T:
        """Run one."""
        ...

    def follow(self, subscription: Subscription[T]) -> Generator[T]:
        """Follow one."""
        ...


class Awaiting(Protocol):
    """What runs operations on an event loop."""

    def run_operation(self, operation: Operation[T]) -> Awaitable[T]:
        """Run one."""
        ...

    def follow(self, subscription: Subscription[T]) -> AsyncGenerator[T]:
        """Follow one."""
        ...


class _Method(Generic[P, T]):
    """A descriptor that looks like the function behind it: its documentation, its parameters."""

    def __init__(self, make: Callable[P, T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__
        self.__wrapped__ = make

    def bound(self, run: Callable[[T], Any]) -> Callable[P, Any]:
        """The method for one client."""

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - what the client makes of T
            return run(self._make(*args, **kwargs))

        method.__doc__ = self.__doc__
        method.__name__ = self._make.__name__
        return method


class blocking(_Method[P, Operation[T]]):  # noqa: N801 - used like a decorator
    """An operation as a method that answers its result."""

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, T]: ...
    def __get__(self, client: Blocking | None, owner: type) -> Self | Callable[P, T]:
        return self if client is None else self.bound(client.run_operation)


class awaiting(_Method[P, Operation[T]]):  # noqa: N801 - used like a decorator
    """An operation as a method to be awaited."""

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Awaiting | None, owner: type) -> Self | Callable[P, Awaitable[T]]:
        return self if client is None else self.bound(client.run_operation)


class yielding(_Method[P, Subscription[T]]):  # noqa: N801 - used like a decorator
    """A subscription as a method that yields its results."""

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, Generator[T]]: ...
    def __get__(self, client: Blocking | None, owner: type) -> Self | Callable[P, Generator[T]]:
        return self if client is None else self.bound(client.follow)


class streaming(_Method[P, Subscription[T]]):  # noqa: N801 - used like a decorator
    """A subscription as a method that yields its results on an event loop."""

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, AsyncGenerator[T]]: ...
    def __get__(self, client: Awaiting | None, owner: type) -> Self | Callable[P, AsyncGenerator[T]]:
        return self if client is None else self.bound(client.follow)
