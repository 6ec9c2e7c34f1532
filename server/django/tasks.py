"""The backend of Django's own tasks: a ``@task`` is a job, and each enqueue of it a run.

Django 6 has ``django.tasks``; for Django 5.2 the package ``django-tasks`` has the same.
"""

import inspect
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import wraps
from importlib import import_module
from inspect import iscoroutinefunction
from traceback import format_exception
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from asgiref.sync import sync_to_async
from django import VERSION
from django.apps import apps
from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured
from django.db import close_old_connections
from django.utils import timezone
from typing_extensions import override

from ...jobs import ConfigurationError, Job, JobContext, PermanentFailure, Result, job
from ...jobs.base.hiding import IN_USE
from ...jobs.core.model import Execution, Outcome, Run
from ...jobs.core.states import FINAL, RunState
from ...jobs.registry import default_registry
from ...jobs.runtime.job.results import MAX_TRACEBACK, error_text
from .choices import OF_TASK

if TYPE_CHECKING or VERSION >= (6, 0):
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started
    from django.utils.json import normalize_json
else:
    from django_tasks import exceptions
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django_tasks.exceptions import TaskResultDoesNotExist
    from django_tasks.signals import task_enqueued, task_finished, task_started
    from django_tasks.utils import normalize_json

    InvalidTask = getattr(exceptions, "InvalidTask", None) or exceptions.InvalidTaskError

if TYPE_CHECKING:
    AnyTask: TypeAlias = Task[Any, Any]
    AnyResult: TypeAlias = TaskResult[Any, Any]
else:
    # They have no parameters at run time, or others.
    AnyTask, AnyResult = Task, TaskResult

_CONTEXT: Final = "_cronograph_ctx"
_OPTIONS: Final = ("retries", "retry_delay", "timeout", "max_duration", "unique_key", "labels", "schedule", "timezone")
"""The options of ``@job`` that a task may have."""
_OF_A_RUN: Final = ("retries", "retry_delay", "timeout", "max_duration")
_STATUS: Final = {
    **dict.fromkeys(RunState, TaskResultStatus.READY),
    **dict.fromkeys(FINAL, TaskResultStatus.FAILED),
    RunState.RUNNING: TaskResultStatus.RUNNING,
    RunState.SUCCESS: TaskResultStatus.SUCCESSFUL,
}
_RAISED: Final[Mapping[Outcome, type[BaseException]]] = {
    Outcome.TIMED_OUT: TimeoutError,
    Outcome.LOST: ConnectionError,
    Outcome.CANCELLED: InterruptedError,
    Outcome.FAILED: RuntimeError,
}
"""The exceptions that stand for ends of attempts that raised none themselves."""
_LARGEST_ID: Final = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class CronographTask(AnyTask):
    """A task with options of Cronograph: ``@task(retries=3, schedule="0 0 6 * * *")``, or ``send.using(retries=3)``.

    Attributes:
        retries: How many failures a run survives; none unless given.
        retry_delay: As of ``@job``.
        timeout: As of ``@job``.
        max_duration: As of ``@job``.
        unique_key: As of ``@job``: while a run with this key is unfinished, an enqueue is answered with its result.
        labels: As of ``@job``; of ``@task`` only, as are ``schedule``, ``timezone`` and ``unique_key``.
        schedule: As of ``@job``; the task needs no argument then.
        timezone: Of the schedule.
    """

    retries: int | None = None
    retry_delay: float | timedelta | str | None = None
    timeout: float | timedelta | str | None = None
    max_duration: float | timedelta | str | None = None
    unique_key: str | Sequence[str] | None = None
    labels: Mapping[str, str] | None = None
    schedule: Any = None
    timezone: str | None = None

    @override
    def using(
        self,
        *,
        priority: int | None = None,
        queue_name: str | None = None,
        run_after: datetime | None = None,
        backend: str | None = None,
        **options: Any,
    ) -> "CronographTask":
        """Return the task with other settings for its runs: Django's, and ``retries`` up to ``max_duration``.

        Raises:
            TypeError: there is no such option of a run.
        """
        wrong = options.keys() - set(_OF_A_RUN)
        if wrong:
            raise TypeError(f"using: has no option '{min(wrong)}'; there are {', '.join(_OF_A_RUN)}")
        given = {
            "priority": priority, "queue_name": queue_name, "run_after": run_after, "backend": backend, **options
        }  # fmt: skip
        return replace(self, **{name: value for name, value in given.items() if value is not None})


class TaskBackend(BaseTaskBackend):
    """``TASKS = {"default": {"BACKEND": "cronograph.django.TaskBackend"}}``.

    ``QUEUES`` are groups. A positive priority is ``high``, every other ``low``. ``OPTIONS`` are options of ``@job`` for
    all of its tasks: ``{"retries": 3, "timeout": "5m"}``.
    """

    task_class = CronographTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    @override
    def validate_task(self, task: AnyTask) -> None:
        """Check that a task can be run, and make it a job.

        Raises:
            InvalidTask: it cannot be run, or one of its options cannot work.
        """
        super().validate_task(task)
        try:
            self._job_of(task)
        except ConfigurationError as error:
            raise InvalidTask(str(error)) from error

    def _job_of(self, task: AnyTask) -> Job[..., ..., Any]:
        registry = default_registry()
        known = registry.get(task.module_path)
        if known is not None and hasattr(known.handler, OF_TASK):
            return Job(known.handler, known, registry)
        options: dict[str, Any] = {"retries": 0, **self.options}
        own = {name: getattr(task, name, None) for name in _OPTIONS}
        options |= {name: value for name, value in own.items() if value is not None}
        options |= {"group": task.queue_name, "priority": _priority(task)}
        return job(task.module_path, registry=registry, **options)(_handler_of(task, self.alias))

    @override
    def enqueue(self, task: AnyTask, args: Any, kwargs: Any) -> AnyResult:
        """Put a run into the queue: as part of the transaction that Django has open, if both have one database.

        Raises:
            InvalidTask: see ``validate_task``.
            TypeError: the function does not take these arguments, or they are no JSON.
        """
        self.validate_task(task)
        asked = self._job_of(task)
        given, by_place = cast("list[Any]", normalize_json(list(args))), len(args)
        if _takes_any(task):
            named = {"args": given, "kwargs": normalize_json(kwargs)}
        else:
            named = _named(task, given, cast("dict[str, Any]", normalize_json(kwargs)))
        options: dict[str, Any] = {"group": task.queue_name, "priority": _priority(task), "run_at": task.run_after}
        options |= {name: value for name in _OF_A_RUN if (value := getattr(task, name, None)) is not None}
        spec = asked.options(**options).run(**named)
        run_after = None if task.run_after is None else task.run_after.isoformat()
        # So that its result says what was enqueued.
        carried = {OF_TASK: {"by_place": by_place, "priority": task.priority, "run_after": run_after}}
        queue = default_registry().queue
        if queue is None:
            raise ImproperlyConfigured("INSTALLED_APPS: must have 'cronograph.django', which says where tasks are kept")
        put = queue.put(replace(spec, carried={**(spec.carried or {}), **carried}))
        result = self._result(put.run, ())
        task_enqueued.send(type(self), task_result=result)
        return result

    @override
    def get_result(self, result_id: str) -> AnyResult:
        """Return the result of a run of a task, as any process sees it.

        Raises:
            TaskResultDoesNotExist: there is none, it has been pruned, or it is the run of a job that is no task.
        """
        queue, number = default_registry().queue, str(result_id)
        known = queue is not None and number.isdecimal() and int(number) < _LARGEST_ID
        found = queue.history(int(number)) if queue is not None and known else None
        if found is None:
            raise TaskResultDoesNotExist(result_id)
        return self._result(*found)

    def _result(self, run: Run, executions: Sequence[Execution]) -> AnyResult:
        definition = default_registry().get(run.job_name)
        declared: AnyTask | None = getattr(getattr(definition, "handler", None), OF_TASK, None)
        if declared is None:
            raise TaskResultDoesNotExist(str(run.id))
        carried = cast("dict[str, Any]", (run.carried or {}).get(OF_TASK) or {})
        args, kwargs = _as_given(declared, run.args, carried.get("by_place", 0))
        begun = [one for one in executions if one.outcome is not Outcome.HANDED_BACK]
        result: AnyResult = TaskResult(
            task=_as_enqueued(declared, run, carried, self.alias),
            id=str(run.id),
            status=_STATUS[run.state],
            enqueued_at=run.submitted_at,
            started_at=begun[0].started_at if begun else None,
            finished_at=run.finished_at,
            last_attempted_at=begun[-1].started_at if begun else None,
            args=args,
            kwargs=kwargs,
            backend=self.alias,
            errors=list(_errors(run, begun)),
            worker_ids=[one.node for one in begun],
        )
        object.__setattr__(result, "_return_value", run.result)
        return result

    @override
    def check(self, **kwargs: Any) -> list[CheckMessage]:
        if apps.is_installed("cronograph.server.django"):
            return []
        return [Error("INSTALLED_APPS: must have 'cronograph.django' for TASKS", id="cronograph.E001")]


def keeps_tasks() -> bool:
    """Return whether a backend of the project's tasks is Cronograph."""
    return any(isinstance(one, TaskBackend) for one in _backends().all())


def _backends() -> Any:  # noqa: ANN401 - each library has a class of its own
    return import_module("django.tasks" if VERSION >= (6, 0) else "django_tasks").task_backends


def _priority(task: AnyTask) -> str:
    return "high" if task.priority > 0 else "low"


def _own_parameters(task: AnyTask) -> list[inspect.Parameter]:
    parameters = list(inspect.signature(task.func).parameters.values())
    return parameters[1:] if task.takes_context else parameters


def _takes_any(task: AnyTask) -> bool:
    """Return whether its run has a list and a mapping as its arguments, since not all of them can be named."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return any(one.kind not in named or not _is_json(one.default) for one in _own_parameters(task))


def _is_json(default: object) -> bool:
    try:
        return default is inspect.Parameter.empty or normalize_json(default) == default
    except (TypeError, ValueError):
        return False


def _named(task: AnyTask, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    try:
        return dict(inspect.Signature(_own_parameters(task)).bind(*args, **kwargs).arguments)
    except TypeError as error:
        raise TypeError(f"{task.module_path}: {error}") from None


def _as_given(task: AnyTask, stored: Mapping[str, Any], by_place: int) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a run as they were enqueued, by place and by name."""
    if _takes_any(task):
        return list(stored.get("args", ())), dict(stored.get("kwargs", {}))
    placed = [one.name for one in _own_parameters(task)[:by_place] if one.name in stored]
    return [stored[name] for name in placed], {name: stored[name] for name in stored if name not in placed}


def _as_enqueued(task: AnyTask, run: Run, carried: Mapping[str, Any], alias: str) -> AnyTask:
    """Return the task with the settings that a run was enqueued with."""
    run_after = carried.get("run_after")
    own = {
        "priority": carried.get("priority", task.priority),
        "queue_name": run.group,
        "run_after": None if run_after is None else datetime.fromisoformat(run_after),
        "backend": alias,
    }
    changed = {name: value for name, value in own.items() if getattr(task, name) != value}
    return replace(task, **changed) if changed else task


def _errors(run: Run, executions: Sequence[Execution]) -> Iterator[TaskError]:
    """Yield an error for each attempt that failed, or for a run that ended badly without any."""
    failed = [one for one in executions if one.outcome in _RAISED]
    for one in failed:
        trace = one.traceback or f"{one.error_message or ''}\n"
        yield TaskError(exception_class_path=_class_path(one, trace), traceback=trace)
    if not failed and run.state in FINAL and run.state is not RunState.SUCCESS:
        yield TaskError(exception_class_path=_path(RuntimeError), traceback=f"{run.error or run.state.value}\n")


def _class_path(execution: Execution, trace: str) -> str:
    """Return the path of the class that an attempt raised; the last line of a traceback says it."""
    stands = _RAISED[execution.outcome or Outcome.FAILED]
    if not execution.error_type or execution.traceback is None:
        return _path(stands)
    found = re.findall(rf"^([\w.]*\b{re.escape(execution.error_type)})(?::|$)", trace, re.MULTILINE)
    named = found[-1] if found else execution.error_type
    return named if "." in named else f"builtins.{named}"


def _path(kind: type[BaseException]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _handler_of(task: AnyTask, alias: str) -> Callable[..., Any]:
    """Return the function that a node calls for a task; its parameters are those of the task, of any type."""
    if iscoroutinefunction(task.func):

        @wraps(task.func)
        async def awaited(**given: object) -> Result:
            attempt = _Attempt(task, alias, given)
            args, kwargs = await sync_to_async(attempt.begin)()
            try:
                value = normalize_json(await task.func(*args, **kwargs))
            except BaseException as error:
                await sync_to_async(attempt.fail)(error)
                raise
            return await sync_to_async(attempt.succeed)(value)

        handler: Any = awaited
    else:

        @wraps(task.func)
        def called(**given: object) -> Result:
            attempt = _Attempt(task, alias, given)
            args, kwargs = attempt.begin()
            try:
                value = normalize_json(task.func(*args, **kwargs))
            except BaseException as error:
                attempt.fail(error)
                raise
            return attempt.succeed(value)

        handler = called
    own = _own_parameters(task)
    if _takes_any(task):
        kind = inspect.Parameter.KEYWORD_ONLY
        own = [inspect.Parameter("args", kind, default=[]), inspect.Parameter("kwargs", kind, default={})]
    context = inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=JobContext)
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=Any) for one in own]
    handler.__signature__ = inspect.Signature([context, *parameters])
    handler.__annotations__ = {_CONTEXT: JobContext}
    setattr(handler, OF_TASK, task)
    return cast("Callable[..., Any]", handler)


class _Attempt:
    """One attempt at a run of a task: the signals around it, and its arguments.

    Args:
        task: The task.
        alias: That of its backend.
        given: The arguments of the run, with the context of its job.
    """

    def __init__(self, task: AnyTask, alias: str, given: Mapping[str, object]) -> None:
        self._task = task
        self._backend = cast("TaskBackend", _backends()[alias])
        self._ctx = cast("JobContext", given[_CONTEXT])

    def begin(self) -> tuple[list[Any], dict[str, Any]]:
        """Tell that it has begun; return the arguments of the function."""
        with _fresh_connections():
            self._result = result = self._backend.get_result(str(self._ctx.info.run_id))
            task_started.send(type(self._backend), task_result=result)
        context: list[Any] = [TaskContext(task_result=result)] if self._task.takes_context else []
        return [*context, *result.args], result.kwargs

    def succeed(self, value: Any) -> Result:  # noqa: ANN401 - any JSON
        """Report that it has ended well, and return the result to keep."""
        object.__setattr__(self._result, "_return_value", value)
        self._finish(TaskResultStatus.SUCCESSFUL)
        return Result(value=value)

    def fail(self, error: BaseException) -> None:
        """Tell that it has failed, if it is not tried again."""
        if not (self._ctx.is_last_attempt or isinstance(error, PermanentFailure)):
            return
        trace = error_text(IN_USE.text("".join(format_exception(error))), MAX_TRACEBACK)
        self._result.errors.append(TaskError(exception_class_path=_path(type(error)), traceback=trace))
        self._finish(TaskResultStatus.FAILED)

    def _finish(self, status: TaskResultStatus) -> None:
        object.__setattr__(self._result, "status", status)
        object.__setattr__(self._result, "finished_at", timezone.now())
        with _fresh_connections():
            task_finished.send(type(self._backend), task_result=self._result)


@contextmanager
def _fresh_connections() -> Generator[None]:
    """Close stale connections of Django's before and after, in the thread that coroutines share as well."""
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()
