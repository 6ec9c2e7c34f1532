"""The beat schedule of Celery: ``beat_schedule``, ``add_periodic_task``, and Django's ``CELERY_BEAT_SCHEDULE``."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from ..base.model import Carried, LeftOut
from ..dialects.fields import DialectError
from ..dialects.python import read_celery
from .calls import Target, When, carried, parameters_in, shown
from .crontab import zone_of
from .source import Called, Reference, Source

NOTES: Final = (
    (
        "beat sends a task also while the last one still runs; here the task skips that occurrence. Write "
        "`overlap: allow` to have it as it was."
    ),
    "Two beats send each task twice; any number of nodes here makes one run of each occurrence.",
)
_SCHEDULES: Final = frozenset({"beat_schedule", "BEAT_SCHEDULE", "CELERY_BEAT_SCHEDULE", "CELERYBEAT_SCHEDULE"})
_ZONES: Final = frozenset({"timezone", "TIMEZONE", "CELERY_TIMEZONE"})
_FIELDS: Final = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")


def read(sources: Sequence[Source], zone: str) -> Iterator[Carried | LeftOut]:
    """All that beat would send.

    Args:
        sources: Of the program.
        zone: Unless one of them sets ``timezone``.
    """
    chosen = next((found for one in sources for found in _zones(one)), zone)
    known = parameters_in(sources)
    for source in sources:
        for name, node in _entries(source):
            try:
                yield _entry(source, name, node, chosen, known)
            except DialectError as error:
                yield LeftOut(source.place(node), source.shown(node), str(error))
        for call in source.calls():
            if isinstance(call.func, ast.Attribute) and call.func.attr == "add_periodic_task":
                try:
                    yield _added(source, call, chosen, known)
                except DialectError as error:
                    yield LeftOut(source.place(call), source.shown(call), str(error))


def _assigned(source: Source, names: Iterable[str]) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """What is assigned to one of these names, to an attribute or by ``conf.update``; with the key of ``name[key]``."""
    wanted = frozenset(names)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                key = target.slice if isinstance(target, ast.Subscript) else None
                inner = target.value if isinstance(target, ast.Subscript) else target
                name = (
                    inner.id if isinstance(inner, ast.Name) else inner.attr if isinstance(inner, ast.Attribute) else ""
                )
                if name in wanted:
                    yield key, node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
            yield from ((None, one.value) for one in node.keywords if one.arg in wanted)


def _zones(source: Source) -> Iterator[str]:
    for _, node in _assigned(source, _ZONES):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _entries(source: Source) -> Iterator[tuple[str, ast.expr]]:
    for key, node in _assigned(source, _SCHEDULES):
        if isinstance(key, ast.Constant):
            yield str(key.value), node
        elif isinstance(node, ast.Dict):
            for name, value in zip(node.keys, node.values, strict=True):
                yield (str(name.value) if isinstance(name, ast.Constant) else ""), value


def _entry(source: Source, name: str, node: ast.expr, zone: str, known: Mapping[str, Sequence[str]]) -> Carried:
    found = source.value(node)
    entry: Mapping[str, Any] = cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}
    if not isinstance(entry.get("task"), str):
        raise DialectError("is no table with the name of a task")
    options: Mapping[str, Any] = entry.get("options") or {}
    target = Target(entry["task"], entry.get("args") or (), entry.get("kwargs") or {}, **_options(options))
    when = _when(entry.get("schedule"), zone)
    return carried(source.place(node), source.shown(node), name or target.function, when, target, known)


def _added(source: Source, call: ast.Call, zone: str, known: Mapping[str, Sequence[str]]) -> Carried:
    args = [source.value(one) for one in call.args]
    kwargs = {one.arg: source.value(one.value) for one in call.keywords if one.arg}
    schedule, signature = (*args, None, None)[:2]
    if not isinstance(signature, Called) or signature.function.last not in ("s", "si", "signature"):
        raise DialectError(f"what is to be sent is known only when the program runs: {shown(signature)}")
    function = signature.function.name.rpartition(".")[0]
    target = Target(function, signature.args, signature.kwargs, **_options(kwargs))
    name = kwargs.get("name")
    when = _when(schedule, zone)
    return carried(
        source.place(call), source.shown(call), name if isinstance(name, str) else function, when, target, known
    )


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in options.items():
        if name == "queue" and isinstance(value, str):
            settings["group"] = value
        elif name in ("time_limit", "soft_time_limit") and isinstance(value, int | float):
            settings["timeout"] = value
        elif name not in ("name", "args", "kwargs"):
            notes.append(f"The option {name}={shown(value)} is not carried.")
    return {"settings": settings, "notes": notes}


def _when(schedule: object, zone: str) -> When:
    if not isinstance(schedule, Called):
        if isinstance(schedule, Reference) or schedule is None:
            raise DialectError(f"its schedule is known only when the program runs: {shown(schedule)}")
        return When.each(schedule)
    last = schedule.function.last
    if last == "schedule":
        return When.each(schedule.kwargs.get("run_every", (*schedule.args, None)[0]))
    if last == "from_string" and schedule.args and isinstance(schedule.args[0], str):
        parts = schedule.args[0].split(" ")
        if len(parts) != 5:
            raise DialectError(f"'{schedule.args[0]}' must have five fields")
        minute, hour, day_of_month, month_of_year, day_of_week = parts
        fields = read_celery(zone_of(zone), minute, hour, day_of_week, day_of_month, month_of_year)
        return When.by_fields(fields, zone)
    if last != "crontab":
        hint = "; `solar` needs the sun's position: enqueue from a daily job" if last == "solar" else ""
        raise DialectError(f"{shown(schedule)} is no schedule that can be said here{hint}")
    given: dict[str, Any] = {**dict(zip(_FIELDS, schedule.args, strict=False)), **schedule.kwargs}
    unknown = (Called, Reference)
    if strange := [name for name, value in given.items() if name not in _FIELDS or isinstance(value, unknown)]:
        raise DialectError(f"crontab({strange[0]}=…) is known only when the program runs")
    return When.by_fields(read_celery(zone_of(zone), **given), zone)
