"""Huey's periodic tasks, RQ's cron and the schedules of rq-scheduler."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ....jobs.core.schedule import ScheduleError, parse_duration
from ..base.model import Carried, LeftOut
from ..dialects.fields import DialectError
from ..dialects.python import read_huey, read_rq, read_rq_scheduler
from .calls import Target, When, carried, parameters_in, seconds_of, shown
from .crontab import zone_of
from .source import Called, Reference, Source

HUEY_NOTES: Final = (
    "Huey reads schedules in UTC unless it is made with `utc=False`: say `--timezone` then.",
    (
        "Huey looks at the clock each minute and makes up for nothing; here the newest missed occurrence runs. "
        "Write `misfire: none` to have it as it was."
    ),
)
RQ_NOTES: Final = (
    "RQ and rq-scheduler read schedules in the time zone of their machine: say `--timezone` if that is another one.",
    "Where both day fields are restricted, one is enough for RQ; rq-scheduler needs both, as schedules here do.",
    (
        "Both enqueue also while the last run still works; here the task skips that occurrence. Write "
        "`overlap: allow` to have it as it was."
    ),
)
_LOST: Final = (
    "repeat", "result_ttl", "ttl", "failure_ttl", "meta", "depends_on", "on_success", "on_failure", "webhooks",
    "at_front",
)  # fmt: skip
"""Options of RQ that have no place here."""
_HUEY_FIELDS: Final = ("minute", "hour", "day", "month", "day_of_week")


def read_huey_tasks(sources: Sequence[Source], zone: str) -> Iterator[Carried | LeftOut]:
    """Each function under ``@huey.periodic_task(crontab(…))``."""
    known = parameters_in(sources)
    for source in sources:
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for one in node.decorator_list:
                if not isinstance(one, ast.Call) or not _is_named(one.func, "periodic_task", "db_periodic_task"):
                    continue
                try:
                    yield _periodic(source, node, one, zone, known)
                except DialectError as error:
                    yield LeftOut(source.place(one), source.shown(one), str(error))


def _is_named(function: ast.expr, *names: str) -> bool:
    last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return last in names


def _periodic(
    source: Source,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    call: ast.Call,
    zone: str,
    known: Mapping[str, Sequence[str]],
) -> Carried:
    schedule = source.value(call.args[0]) if call.args else None
    if not isinstance(schedule, Called) or schedule.function.last != "crontab":
        raise DialectError(f"its schedule is a function of its own: {shown(schedule)}")
    given: dict[str, Any] = {**dict(zip(_HUEY_FIELDS, schedule.args, strict=False)), **schedule.kwargs}
    given.pop("strict", None)
    options = {one.arg: source.value(one.value) for one in call.keywords if one.arg}
    settings = seconds_of(options, retries="retries", retry_delay="retry_delay", timeout="timeout")
    notes = [
        f"{name}={shown(value)} is not carried."
        for name, value in options.items()
        if name not in ("retries", "retry_delay", "timeout", "name")
    ]
    target = Target(f"{source.module}.{node.name}", method="call_local", settings=settings, notes=notes)
    when = When.by_fields(read_huey(zone_of(zone), **given), zone)
    return carried(source.place(call), source.shown(call), str(options.get("name") or node.name), when, target, known)


def read_rq_schedules(sources: Sequence[Source], zone: str) -> Iterator[Carried | LeftOut]:
    """``cron.register(…)`` of RQ, and ``scheduler.cron(…)`` and ``scheduler.schedule(…)`` of rq-scheduler."""
    known = parameters_in(sources)
    for source in sources:
        for call in source.calls():
            kind = _kind(source, call)
            if kind is None:
                continue
            try:
                yield _registered(source, call, kind, zone, known)
            except DialectError as error:
                yield LeftOut(source.place(call), source.shown(call), str(error))


def _kind(source: Source, call: ast.Call) -> str | None:
    """What a call registers by: ``register``, ``cron`` or ``schedule``; None = it registers nothing."""
    name = getattr(call.func, "attr", "")
    if isinstance(call.func, ast.Name):
        function = source.value(call.func)
        name = "register" if isinstance(function, Reference) and function.name == "rq.cron.register" else ""
    kwargs = {one.arg for one in call.keywords}
    registers = name == "cron" or (name == "register" and kwargs & {"cron", "interval"})
    return name if registers or (name == "schedule" and "interval" in kwargs) else None


def _time_box(given: Mapping[str, Any], option: str) -> dict[str, Any]:
    """The time box of a job, which RQ also takes as a text such as ``3m``."""
    if not isinstance(given.get(option), str):
        return seconds_of(given, timeout=option)
    try:
        return {"timeout": parse_duration(given[option])}
    except ScheduleError:
        raise DialectError(f"{option}: {given[option]!r:.60} is no time such as 180 or '3m'") from None


def _registered(source: Source, call: ast.Call, kind: str, zone: str, known: Mapping[str, Sequence[str]]) -> Carried:
    args = [source.value(one) for one in call.args]
    given: dict[str, Any] = {one.arg: source.value(one.value) for one in call.keywords if one.arg}
    order = {
        "register": ("func", "queue_name", "args", "kwargs"),
        "cron": ("cron_string", "func", "args", "kwargs"),
        "schedule": ("scheduled_time", "func", "args", "kwargs", "interval"),
    }
    given = dict(zip(order[kind], args, strict=False)) | given
    function = given.get("func")
    if not isinstance(function, Reference | str):
        raise DialectError(f"its function is known only when the program runs: {shown(function)}")
    name = function if isinstance(function, str) else function.name
    settings = _time_box(given, "timeout" if kind != "register" else "job_timeout")
    queue = given.get("queue_name")
    if isinstance(queue, str):
        settings["group"] = queue
    notes = [f"{one}={shown(given[one])} is not carried." for one in _LOST if given.get(one) is not None]
    if queue is not None and not isinstance(queue, str):
        notes.append(f"queue_name={shown(queue)} is known only when the program runs: name the group.")
    if source.is_nested(call):
        notes.append("It stands within a loop, a condition or a function: here it is one task, always there.")
    target = Target(name, given.get("args") or (), given.get("kwargs") or {}, notes=notes, settings=settings)
    expression = given.get("cron_string" if kind == "cron" else "cron")
    if isinstance(expression, str):
        fields = (read_rq_scheduler if kind == "cron" else read_rq)(zone_of(zone), expression)
        when = When.by_fields(fields, zone)
    else:
        when = When.each(given.get("interval"))
    named = given.get("name") or given.get("id") or name.rpartition(".")[2]
    return carried(source.place(call), source.shown(call), str(named), when, target, known)
