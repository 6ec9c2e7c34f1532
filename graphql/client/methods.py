"""The ready-made operations as methods: both clients have the same ones, each named once."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from . import mutations, queries, subscriptions
from .operation import Operation
from .subscription import Subscription

P = ParamSpec("P")
T = TypeVar("T")


class Blocking(Protocol):
    """Run operations, and wait for their answers."""

    def run_operation(self, operation: Operation[T]) -> T:
        """Run one."""
        ...

    def follow(self, subscription: Subscription[T]) -> Generator[T]:
        """Follow one."""
        ...


class Awaiting(Protocol):
    """Run operations on an event loop."""

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
        """Return the method for one client."""

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - what the client makes of T
            return run(self._make(*args, **kwargs))

        method.__doc__ = self.__doc__
        method.__name__ = self._make.__name__
        return method


class answered(_Method[P, Operation[T]]):  # noqa: N801 - used like a decorator
    """An operation as a method that answers its result, on an event loop to be awaited."""

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Blocking | Awaiting | None, owner: type) -> Self | Callable[P, Any]:
        return self if client is None else self.bound(client.run_operation)


class followed(_Method[P, Subscription[T]]):  # noqa: N801 - used like a decorator
    """A subscription as a method that yields its results, on an event loop asynchronously."""

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, Generator[T]]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, AsyncGenerator[T]]: ...
    def __get__(self, client: Blocking | Awaiting | None, owner: type) -> Self | Callable[P, Any]:
        return self if client is None else self.bound(client.follow)


class Operations:
    """The methods of both clients that are ready-made operations."""

    as_of = answered(queries.as_of)
    server_time = answered(queries.server_time)
    viewer = answered(queries.viewer)
    available_jobs = answered(queries.available_jobs)
    job = answered(queries.job)
    tasks = answered(queries.tasks)
    task = answered(queries.task)
    runs = answered(queries.runs)
    run = answered(queries.run)
    executions = answered(queries.executions)
    execution = answered(queries.execution)
    job_logs = answered(queries.job_logs)
    skipped_occurrences = answered(queries.skipped_occurrences)
    flows = answered(queries.flows)
    flow = answered(queries.flow)
    groups = answered(queries.groups)
    nodes = answered(queries.nodes)
    saved_views = answered(queries.saved_views)
    webhooks = answered(queries.webhooks)
    explain_task = answered(queries.explain_task)
    explain_run = answered(queries.explain_run)
    validate_schedule = answered(queries.validate_schedule)

    trigger_job = answered(mutations.trigger_job)
    trigger_task = answered(mutations.trigger_task)
    enqueue_runs = answered(mutations.enqueue_runs)
    preview_runs = answered(mutations.preview_runs)
    preview_task = answered(mutations.preview_task)
    preview_retry = answered(mutations.preview_retry)
    cancel_run = answered(mutations.cancel_run)
    cancel_runs = answered(mutations.cancel_runs)
    update_run = answered(mutations.update_run)
    signal_run = answered(mutations.signal_run)
    retry_run = answered(mutations.retry_run)
    retry_runs = answered(mutations.retry_runs)
    retry_run_now = answered(mutations.retry_run_now)
    retry_runs_now = answered(mutations.retry_runs_now)
    set_run_priorities = answered(mutations.set_run_priorities)
    create_task = answered(mutations.create_task)
    update_task = answered(mutations.update_task)
    delete_task = answered(mutations.delete_task)
    delete_tasks_of_owner = answered(mutations.delete_tasks_of_owner)
    pause_task = answered(mutations.pause_task)
    resume_task = answered(mutations.resume_task)
    reset_task = answered(mutations.reset_task)
    pause_tasks = answered(mutations.pause_tasks)
    resume_tasks = answered(mutations.resume_tasks)
    delete_tasks = answered(mutations.delete_tasks)
    pause_group = answered(mutations.pause_group)
    resume_group = answered(mutations.resume_group)
    enqueue_flow = answered(mutations.enqueue_flow)
    add_flow_runs = answered(mutations.add_flow_runs)
    close_flow = answered(mutations.close_flow)
    cancel_flow = answered(mutations.cancel_flow)
    retry_flow = answered(mutations.retry_flow)
    limit_group = answered(mutations.limit_group)
    age_group = answered(mutations.age_group)
    keep_group = answered(mutations.keep_group)
    cap_group = answered(mutations.cap_group)
    rate_group = answered(mutations.rate_group)
    rate_job = answered(mutations.rate_job)
    prune_history = answered(mutations.prune_history)
    create_webhook = answered(mutations.create_webhook)
    update_webhook = answered(mutations.update_webhook)
    delete_webhook = answered(mutations.delete_webhook)
    resume_webhook = answered(mutations.resume_webhook)
    redeliver_webhook = answered(mutations.redeliver_webhook)
    save_view = answered(mutations.save_view)
    update_view = answered(mutations.update_view)
    delete_view = answered(mutations.delete_view)
    drain_node = answered(mutations.drain_node)
    resume_node = answered(mutations.resume_node)

    events = followed(subscriptions.events)
    run_updates = followed(subscriptions.run_updates)
    execution_log = followed(subscriptions.execution_log)
