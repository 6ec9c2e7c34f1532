"""APScheduler 3: ``add_job`` and ``scheduled_job`` with a cron, interval or date trigger."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from ..base.model import Carried, LeftOut
from ..dialects.apscheduler import FIELDS, read_apscheduler
from ..dialects.fields import DialectError
from .calls import Target, When, carried, parameters_in, shown, with_notes
from .crontab import zone_of
from .source import Called, Reference, Source

NOTES: Final = (
    "APScheduler counts weekdays from Monday = 0, also in `from_crontab`; here names are written, as MON.",
    (
        "A job that is late by more than `misfire_grace_time` (1 s unless set) is dropped there; here `misfire: last` "
        "runs the newest occurrence."
    ),
    "Jobs that the program keeps in a job store alone are not in its sources: add them by hand.",
)
_SPANS: Final = ("weeks", "days", "hours", "minutes", "seconds")
_FIVE: Final = ("minute", "hour", "day", "month", "day_of_week")
_KINDS: Final = {
    "CronTrigger": "cron",
    "IntervalTrigger": "interval",
    "DateTrigger": "date",
    "from_crontab": "crontab",
}


def read(sources: Sequence[Source], zone: str) -> Iterator[Carried | LeftOut]:
    """All jobs that the sources add.

    Args:
        sources: Of the program.
        zone: Unless a scheduler or a trigger says another.
    """
    known = parameters_in(sources)
    chosen = next((found for one in sources for found in _zones(one)), zone)
    for source in sources:
        decorated = _decorated(source)
        for call in source.calls():
            if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("add_job", "scheduled_job"):
                continue
            try:
                yield _job(source, call, decorated.get(call), chosen, known)
            except DialectError as error:
                yield LeftOut(source.place(call), source.shown(call), str(error))


def _zones(source: Source) -> Iterator[str]:
    for call in source.calls():
        try:
            made = source.value(call)
        except DialectError:
            continue
        if isinstance(made, Called) and made.function.last.endswith("Scheduler") and "timezone" in made.kwargs:
            yield _zone(made.kwargs["timezone"], "")


def _zone(value: object, otherwise: str) -> str:
    if isinstance(value, Called) and value.args and isinstance(value.args[0], str):
        return value.args[0]
    if isinstance(value, Reference) and value.last.lower() == "utc":
        return "UTC"
    return value if isinstance(value, str) else otherwise


def _decorated(source: Source) -> dict[ast.Call, str]:
    return {
        decorator: node.name
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
    }


def _job(
    source: Source, call: ast.Call, decorated: str | None, zone: str, known: Mapping[str, Sequence[str]]
) -> Carried:
    args = [source.value(one) for one in call.args]
    kwargs = {one.arg: source.value(one.value) for one in call.keywords if one.arg}
    if decorated is None:
        function = kwargs.pop("func", None) or (args.pop(0) if args else None)
    else:
        function = Reference(f"{source.module}.{decorated}")
    name = function.replace(":", ".") if isinstance(function, str) else getattr(function, "name", "")
    if not isinstance(function, str | Reference):
        raise DialectError(f"its function is known only when the program runs: {shown(function)}")
    trigger = kwargs.pop("trigger", args.pop(0) if args else None)
    settings, notes = _policies(kwargs)
    when, bounds = _when(trigger, kwargs, zone)
    target = Target(name, kwargs.get("args") or (), kwargs.get("kwargs") or {}, "", notes, settings | bounds)
    if name.startswith(f"{source.module}.") and ".start()" in source.text:
        target = with_notes(target, f"Importing {source.module} starts the scheduler: move the function elsewhere.")
    named = kwargs.get("id") or kwargs.get("name")
    return carried(source.place(call), source.shown(call), str(named or name.rpartition(".")[2]), when, target, known)


def _policies(kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    settings: dict[str, Any] = {}
    notes: list[str] = []
    if isinstance(kwargs.get("misfire_grace_time"), int):
        settings["misfire_grace"] = kwargs["misfire_grace_time"]
    if kwargs.get("coalesce") is False:
        settings["misfire"] = "all"
    if isinstance(kwargs.get("max_instances"), int) and kwargs["max_instances"] > 1:
        settings["overlap"] = "allow"
        notes.append(f"max_instances={kwargs['max_instances']}: here `overlap: allow` has no such limit.")
    lost = [name for name in ("executor", "jobstore", "next_run_time") if name in kwargs]
    notes += [f"{name}={shown(kwargs[name])} is not carried." for name in lost]
    return settings, notes


def _when(trigger: object, kwargs: Mapping[str, Any], zone: str) -> tuple[When, dict[str, Any]]:
    kind: object = trigger
    given: dict[str, Any] = dict(kwargs)
    if isinstance(trigger, Called):
        kind, given = _KINDS.get(trigger.function.last), dict(trigger.kwargs)
        if kind == "crontab":
            parts = str((*trigger.args, "")[0]).split()
            if len(parts) != 5:
                raise DialectError(f"{shown((*trigger.args, '')[0])} must have five fields")
            kind, given = (
                "cron",
                given | dict(zip(_FIVE, parts, strict=True)),
            )
    own = _zone(given.get("timezone"), zone)
    bounds = {"start_at": given.get("start_date"), "end_at": given.get("end_date")}
    limits: dict[str, Any] = {name: _instant(value, own) for name, value in bounds.items() if value is not None}
    if given.get("jitter"):
        limits["jitter"] = given["jitter"]
    if kind == "cron":
        when = When.by_fields(read_apscheduler(zone_of(own), {name: given.get(name) for name in FIELDS}), own)
        return (
            When(when.schedules, None, "a jitter is another delay each time") if given.get("jitter") else when
        ), limits
    if kind == "interval":
        span = {name: given[name] for name in _SPANS if name in given}
        return When.each(timedelta(**span) if span else 1), limits
    if kind == "date":
        return When.once(_instant(given.get("run_date"), own)), {}
    what = (
        "no trigger, which runs it at once: enqueue it instead" if trigger is None else f"the trigger {shown(trigger)}"
    )
    raise DialectError(f"it has {what}; only cron, interval and date are carried")


def _instant(value: object, zone: str) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise DialectError(f"'{value}' is no time that is understood") from None
    if not isinstance(value, datetime):
        raise DialectError(f"{shown(value)} is no time that is known before the program runs")
    return value if value.tzinfo else value.replace(tzinfo=ZoneInfo(zone))
