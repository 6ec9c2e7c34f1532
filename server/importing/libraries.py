"""Read the live schedules of Celery, APScheduler, RQ and Huey, in the Python of a project.

This module and ``probe`` are copied to where that Python finds them. They import only the standard library and the
library that is asked.
"""

# The libraries have no types, and they are those of the project.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import inspect
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from .probe import (
    IMPORT_SECONDS,
    Entry,
    Found,
    RefusedError,
    UnsaidError,
    alarm,
    called,
    entry_of,
    fault,
    imported,
    local_zone,
    recorded,
    seconds,
    started,
    stepped,
    unused,
)

HOURS, MINUTES, DAYS, MONTHS, WEEKDAYS = range(24), range(60), range(1, 32), range(1, 13), range(7)


@dataclass
class Held:
    """The schedulers that a project made, by library; None if the library is not there.

    Attributes:
        rq_scheduler: The calls of rq-scheduler.
        notes: The schedules that are not read, one sentence each.
    """

    apscheduler: list[Any] | None
    rq: list[Any] | None
    huey: list[Any] | None
    rq_scheduler: list[tuple[str, Entry]] | None
    notes: list[str]


# Celery -------------------------------------------------------------------------------------------------------------

BEAT_KEYS = ("CELERY_BEAT_SCHEDULE", "CELERYBEAT_SCHEDULE", "BEAT_SCHEDULE", "beat_schedule")


def _celery_app(spec: str, notes: list[str]) -> Any:  # noqa: ANN401 - a Celery
    """Return the app that ``-A`` names; for a module of settings an app that is configured by it."""
    celery = import_module("celery")
    name, _, attribute = spec.partition(":")
    utils = import_module("celery.app.utils")
    module = None if attribute else _module_of(name)
    apps = {id(one): one for one in vars(module or utils).values() if isinstance(one, celery.Celery)}
    if module is not None and len(apps) == 1:
        return next(iter(apps.values()))
    if module is not None and not apps and any(key in vars(module) for key in BEAT_KEYS):
        app = celery.Celery(name)
        app.config_from_object(module, namespace="CELERY" if BEAT_KEYS[0] in vars(module) else None)
        return app
    try:
        found = utils.find_app(spec)
    except AttributeError as error:
        raise RefusedError(f"{spec} has no Celery app: {error}") from None
    if not isinstance(found, celery.Celery):
        raise RefusedError(f"{spec} is a {type(found).__name__}, no Celery app; name it: MODULE:NAME")
    if module is not None and len(apps) > 1:
        notes.append(f"{name} has {len(apps)} Celery apps, and only '{found.main}' is read; name another: {name}:NAME.")
    return found


def _module_of(name: str) -> Any:  # noqa: ANN401 - a module; None for MODULE.NAME, which Celery allows
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name and "." in name:
            return None
        raise


def _read_celery(spec: str, held: Held) -> Iterator[Found]:
    app = _celery_app(spec, held.notes)
    app.loader.import_default_modules()
    app.finalize()
    scheduler = str(app.conf.beat_scheduler)
    if not scheduler.startswith("celery.beat:"):
        held.notes.append(f"beat_scheduler is {scheduler}: schedules that it keeps elsewhere are not read.")
    entries = app.conf.beat_schedule
    if not isinstance(entries, Mapping):
        raise RefusedError(f"{spec}: beat_schedule is no table, got {entries!r:.60}")
    for name, entry in dict(entries).items():
        place = f"{spec}: beat_schedule[{name!r}]"
        yield (place, str(name), partial(_celery_entry, app, name, entry))


def _celery_entry(app: Any, name: str, given: Any) -> Entry:  # noqa: ANN401 - of Celery
    beat, schedules = import_module("celery.beat"), import_module("celery.schedules")
    if not isinstance(given, (dict, beat.ScheduleEntry)) or not dict(given).get("task"):
        raise UnsaidError("it names no task")
    entry = beat.ScheduleEntry(**{**dict(given), "name": name, "app": app})
    schedule = entry.schedule
    task = app.tasks.get(entry.task)
    run: Any = getattr(task, "run", None)
    if run is None or "." in getattr(run, "__qualname__", "."):
        function = entry.task
    else:
        function = f"{run.__module__}.{run.__name__}"
    call = called(run, entry.args, entry.kwargs, function)
    if task is None:
        call["notes"].append(f"The task '{entry.task}' is not registered in the app: correct the name of its function.")
    options = dict(entry.options)
    limits = [options.pop(key, None) or getattr(task, key, None) for key in ("time_limit", "soft_time_limit")]
    settings = {
        "group": options.pop("queue", None) or getattr(task, "queue", None),
        "timeout": limits[0] or limits[1],
    }
    of_task = {key: getattr(task, key, None) for key in ("expires", "priority", "rate_limit", "autoretry_for")}
    options = {**of_task, **options}
    if app.conf.task_routes and not settings["group"]:
        call["notes"].append("task_routes choose its queue there: write it as `group`.")
    made = {
        **call,
        "text": f"{entry.task}: {schedule!r}",
        "settings": settings,
        "notes": (notes := call["notes"] + unused(options)),
    }
    if type(schedule) is schedules.schedule:
        return {**made, **_celery_interval(schedule, schedules.crontab, notes)}
    if type(schedule) is not schedules.crontab and type(schedule).__name__ != "TzAwareCrontab":
        hint = "; enqueue from a daily job" if type(schedule).__name__ == "solar" else ""
        raise UnsaidError(f"its schedule is a {type(schedule).__name__}, which cannot be said here{hint}")
    if schedule.nowfun is not None and type(schedule) is schedules.crontab:
        raise UnsaidError("its schedule has a clock of its own, nowfun")

    def following(at: datetime) -> Any:  # noqa: ANN401 - of the library
        schedule.nowfun = lambda: at
        return at + schedule.remaining_estimate(at)

    return {**made, "cron": _celery_cron(schedule), "zone": schedule.tz, "times": stepped(following)}


def _celery_cron(crontab: Any) -> dict[str, Any]:  # noqa: ANN401 - of Celery
    return {
        "minutes": crontab.minute, "hours": crontab.hour, "days": crontab.day_of_month,
        "months": crontab.month_of_year, "weekdays": crontab.day_of_week,
    }  # fmt: skip


_ROUNDED: Final[Mapping[float, Mapping[str, int]]] = {60: {}, 3600: {"minute": 0}, 86400: {"minute": 0, "hour": 0}}
"""The crontabs of Celery that are due when an interval of so many seconds is that is rounded down (``relative``)."""


def _celery_interval(schedule: Any, crontab: Any, notes: list[str]) -> dict[str, Any]:  # noqa: ANN401 - of Celery
    every = seconds(schedule.run_every)
    if schedule.relative and every in _ROUNDED:

        def following(at: datetime) -> Any:  # noqa: ANN401 - of the library
            schedule.nowfun = lambda: at
            return at + schedule.remaining_estimate(at.astimezone(schedule.tz))

        return {"cron": _celery_cron(crontab(**_ROUNDED[every])), "zone": schedule.tz, "times": stepped(following)}
    if schedule.relative and every >= 60:
        unit = "day" if every >= 86400 else "hour" if every >= 3600 else "minute"
        notes.append(f"relative=True is not carried: Celery rounds each of its times down to the {unit}.")
    return {"interval": every}


# APScheduler --------------------------------------------------------------------------------------------------------


_LATER = "what a program adds only when it starts is not read; name a script that does the same at its import"


def _read_apscheduler(spec: str, held: Held) -> Iterator[Found]:
    if held.apscheduler is None:
        version = import_module("importlib.metadata").version("apscheduler")
        raise RefusedError(f"only APScheduler 3 is read, got {version}")
    found: list[Any] = held.apscheduler
    created = datetime.now(timezone.utc)
    imported(spec, held.notes)
    if not found:
        held.notes.append(f"The import of {spec} made no scheduler: {_LATER}.")
    for number, scheduler in enumerate(found, start=1):
        place = f"{spec}: scheduler {number} of {len(found)}"
        for alias, store in scheduler._jobstores.items():
            if not type(store).__name__.startswith("Memory"):
                held.notes.append(
                    f"{place}: jobs that its store '{alias}' ({type(store).__name__}) keeps are not read."
                )
        jobs = {job.id: job for job in scheduler.get_jobs()}
        if not jobs:
            held.notes.append(f"{place} has no jobs yet: {_LATER}.")
        for job in jobs.values():
            name = job.name if re.fullmatch("[0-9a-f]{32}", job.id) else job.id
            yield (f"{place}, job {name}", name, partial(_apscheduler_entry, scheduler, job, created))


def _apscheduler_entry(scheduler: Any, job: Any, created: datetime) -> Entry:  # noqa: ANN401 - of APScheduler
    trigger = job.trigger
    made = called(job.func, job.args, job.kwargs)
    notes, settings = made["notes"], _apscheduler_policies(scheduler, job, made["notes"])
    if job.func_ref is None:
        raise UnsaidError(f"its function {made['function']} has no name that can be imported")
    made |= {"text": f"{made['function']}: {trigger}", "settings": settings}
    kind = type(trigger).__name__
    if kind == "DateTrigger":
        if trigger.run_date <= datetime.now(timezone.utc):
            raise UnsaidError("it has no trigger, or one in the past, which runs it at once: enqueue it instead")
        return {**made, "at": trigger.run_date.isoformat()}
    _judge_trigger(trigger)
    if trigger.jitter:
        settings["jitter"] = trigger.jitter
        notes.append("jitter is another delay each time there; here it is one delay that stays the task's.")
        trigger.jitter = None
    if trigger.end_date is not None:
        settings["end_at"] = trigger.end_date.isoformat()
    times = stepped(lambda at: trigger.get_next_fire_time(None, at + timedelta(seconds=1)))
    if kind == "IntervalTrigger":
        by_default = created <= trigger.start_date - trigger.interval <= datetime.now(timezone.utc)
        if by_default:
            return {**made, "interval": seconds(trigger.interval)}
        first = trigger.get_next_fire_time(None, datetime.now(timezone.utc))
        settings["start_at"] = first.isoformat() if first else None
        return {**made, "interval": seconds(trigger.interval), "zone": trigger.timezone, "times": times}
    if trigger.start_date is not None:
        settings["start_at"] = trigger.start_date.isoformat()
    return {**made, "cron": _apscheduler_cron(trigger), "zone": trigger.timezone, "times": times}


def _judge_trigger(trigger: Any) -> None:  # noqa: ANN401 - of APScheduler
    now = datetime.now(timezone.utc)
    if type(trigger).__name__ not in ("CronTrigger", "IntervalTrigger"):
        raise UnsaidError(f"it has the trigger {trigger}; only cron, interval and date are carried")
    if trigger.end_date is not None and trigger.end_date <= max(trigger.start_date or now, now):
        raise UnsaidError(f"it has ended, at {trigger.end_date}")


def _apscheduler_policies(scheduler: Any, job: Any, notes: list[str]) -> Entry:  # noqa: ANN401 - of APScheduler
    settings: Entry = {}
    defaults = scheduler._job_defaults
    grace = getattr(job, "misfire_grace_time", defaults.get("misfire_grace_time", 1))
    if grace is not None and grace != 1:
        settings["misfire_grace"] = grace
    if not getattr(job, "coalesce", defaults.get("coalesce", True)):
        settings["misfire"] = "all"
    most = getattr(job, "max_instances", defaults.get("max_instances", 1))
    if most > 1:
        settings["overlap"] = "allow"
        notes.append(f"max_instances={most}: here `overlap: allow` has no such limit.")
    if hasattr(job, "next_run_time"):
        if job.next_run_time is None:
            settings["enabled"] = False
        else:
            notes.append(f"next_run_time={job.next_run_time.isoformat()} is not carried.")
    if job.executor != "default":
        notes.append(f"executor={job.executor!r} is not carried.")
    return settings


def _apscheduler_cron(trigger: Any) -> Entry:  # noqa: ANN401 - of APScheduler
    """Return the numbers that the fields of a ``CronTrigger`` take, with Sunday = 0."""
    limits = {
        "month": MONTHS,
        "day": DAYS,
        "day_of_week": WEEKDAYS,
        "hour": HOURS,
        "minute": MINUTES,
        "second": MINUTES,
    }
    found: dict[str, set[int]] = {}
    nth: list[tuple[int, int]] = []
    last_day = False
    for field in trigger.fields:
        if field.name in ("year", "week"):
            if str(field) != "*":
                raise UnsaidError(
                    f"{field.name}: there is no such field here; use `start_at` and `end_at`, or test it in the job"
                )
            continue
        numbers = found[field.name] = set()
        for one in field.expressions:
            kind, limit = type(one).__name__, limits[field.name]
            if kind == "WeekdayPositionExpression":
                nth.append((one.option_num + 1 if one.option_num < 5 else -1, (one.weekday + 1) % 7))
            elif kind == "LastDayOfMonthExpression":
                last_day = True
            else:
                first, last = getattr(one, "first", limit[0]), getattr(one, "last", None)
                numbers |= set(range(first, (limit[-1] if last is None else last) + 1, one.step or 1))
    weekdays = {(number + 1) % 7 for number in found["day_of_week"]}
    if nth and (len(weekdays) < 7 or found["day"] or last_day):
        raise UnsaidError("day: it has weekdays of the month besides days of the month or of the week")
    return {
        "seconds": found["second"], "minutes": found["minute"], "hours": found["hour"], "months": found["month"],
        "days": DAYS if nth else found["day"], "weekdays": [] if nth else weekdays, "last_day": last_day, "nth": nth,
    }  # fmt: skip


# RQ and rq-scheduler ------------------------------------------------------------------------------------------------


def _read_rq(spec: str, held: Held) -> Iterator[Found]:
    if held.rq is None and held.rq_scheduler is None:
        raise RefusedError("neither rq.cron (RQ 2.4 and later) nor rq_scheduler is installed there")
    imported(spec, held.notes)
    jobs = [partial(_rq_entry, job) for one in held.rq or () for job in one.get_jobs()]
    if held.rq is not None:
        cron = import_module("rq.cron")
        jobs += [partial(_rq_data, cron.CronJob, data) for data in cron._job_data_registry]
    for number, make in enumerate(jobs, start=1):
        yield (f"{spec}: cron job {number}", f"cron job {number}", make)
    for kind, given in held.rq_scheduler or ():
        function = given["func"]
        name = given["id"] or getattr(function, "__name__", str(function).rpartition(".")[2])
        yield (f"{spec}: Scheduler.{kind} {name}", name, partial(_rq_scheduler_entry, kind, given))


def _rq_timeout(value: Any) -> float | None:  # noqa: ANN401 - what RQ takes
    return None if value is None else import_module("rq.utils").parse_timeout(value)


def _rq_data(make: Callable[..., Any], data: Entry) -> Entry:
    return _rq_entry(make(**{key: value for key, value in data.items() if value is not None}))


def _rq_entry(job: Any) -> Entry:  # noqa: ANN401 - a CronJob
    options = {key: value for key, value in job.job_options.items() if key != "result_ttl"}
    made = called(job.func, job.args, job.kwargs)
    name = getattr(job, "name", job.func_name)
    made |= {
        "name": made["function"].rpartition(".")[2] if name == job.func_name else name,
        "text": f"{made['function']}: cron={job.cron!r}, interval={job.interval!r}",
        "settings": {"group": job.queue_name, "timeout": _rq_timeout(options.pop("job_timeout", None))},
        "notes": made["notes"] + unused(options),
    }
    if not job.cron:
        return {**made, "interval": seconds(job.interval)}

    def following(at: datetime) -> Any:  # noqa: ANN401 - of the library
        job.latest_enqueue_time = at
        return job.get_next_enqueue_time()

    return {**made, "cron": _croniter_cron(job.cron), "zone": local_zone(), "times": stepped(following)}


def _croniter_cron(text: str) -> Entry:
    """Return the numbers that croniter finds in an expression."""
    read = import_module("croniter").croniter(text)
    if re.search(r"(?:^|[\s,])[rh](?:[\s(/,]|$)", text, re.IGNORECASE):
        raise UnsaidError(f"'{text}' has a number that croniter chooses at random or by a name (R, H)")
    if getattr(read, "nearest_weekday", None):
        raise UnsaidError(f"'{text}' has the weekday nearest to a day (W), which is not carried: write it by hand")
    fields = [*read.expanded, [0]][:6]
    limits = (MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS, MINUTES)
    names = ("minutes", "hours", "days", "months", "weekdays", "seconds")
    cron: Entry = {
        name: limit if "*" in field else [one % 7 if name == "weekdays" else one for one in field if one != "l"]
        for name, field, limit in zip(names, fields, limits)  # noqa: B905 - for Python 3.9
    }
    numbers = read.nth_weekday_of_month
    nth = [(-1 if one == "l" else one, day % 7) for day, several in numbers.items() for one in several]
    restricted = ["*" not in fields[place] for place in (2, 4)]
    return {
        **cron, "last_day": "l" in fields[2], "nth": nth, "either": all(restricted),
        "weekdays": [] if nth else cron["weekdays"],
    }  # fmt: skip


def _rq_scheduler_calls() -> list[tuple[str, Entry]] | None:
    """Return a list that keeps the calls of rq-scheduler, which would write them to Redis; None if there is none."""
    try:
        cls = import_module("rq_scheduler").Scheduler
    except ImportError:
        return None
    calls: list[tuple[str, Entry]] = []

    def keep(kind: str) -> Callable[..., Any]:
        signature = inspect.signature(getattr(cls, kind))

        def called_with(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the original
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            calls.append((kind, dict(bound.arguments)))
            return _job_of(bound.arguments["id"])

        return called_with

    for kind in ("cron", "schedule"):
        setattr(cls, kind, keep(kind))
    for name in ("enqueue_at", "enqueue_in"):
        setattr(cls, name, lambda *_args, **_kwargs: _job_of(None))
    for name in ("cancel", "change_execution_time"):
        setattr(cls, name, lambda *_args, **_kwargs: None)
    for name, value in (("get_jobs", ()), ("get_jobs_to_queue", ()), ("count", 0)):
        setattr(cls, name, lambda *_args, value=value, **_kwargs: value)
    cls.__contains__ = lambda *_: False
    cls.run = lambda *_args, **_kwargs: started()
    return calls


def _job_of(name: str | None) -> Any:  # noqa: ANN401 - in place of a Job of RQ
    """Return something that a project may ask as it asks the job it has enqueued: its id is all that is known of it."""
    return import_module("unittest.mock").MagicMock(id=name or "not enqueued")


def _utc(at: datetime) -> datetime:
    return at.replace(tzinfo=timezone.utc) if at.tzinfo is None else at.astimezone(timezone.utc)


def _rq_scheduler_entry(kind: str, given: Entry) -> Entry:
    function = given["func"]
    made = called(None if isinstance(function, str) else function, given["args"], given["kwargs"], *(
        [function] if isinstance(function, str) else []
    ))  # fmt: skip
    group = given["queue_name"] or getattr(given["self"], "queue_name", None)
    lost = ("repeat", "ttl", "meta", "depends_on", "on_success", "on_failure", "at_front")
    made |= {
        "text": f"{made['function']}: {given.get('cron_string') or given.get('interval')!r}",
        "settings": {"group": group, "timeout": _rq_timeout(given["timeout"]), "description": given["description"]},
        "notes": made["notes"] + unused({name: given.get(name) for name in lost}),
    }
    if kind == "schedule":
        if given["interval"] is None or given.get("repeat") == 0:
            raise UnsaidError("it is due once: enqueue it instead")
        first = given["scheduled_time"]
        if isinstance(first, datetime) and (first := _utc(first)) > datetime.now(timezone.utc):
            made["settings"]["start_at"] = first.isoformat()
        return {**made, "interval": seconds(given["interval"])}
    read = import_module("crontab").CronTab(given["cron_string"])
    names = ("seconds", "minutes", "hours", "days", "months", "weekdays", "years")
    limits = (MINUTES, MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS, range(1970, 2100))
    cron: Entry = {}
    for name, limit, field in zip(names, limits, read.matchers):  # noqa: B905 - for Python 3.9
        special = [one for one in field.split if "l" in one or one.startswith("z") or (name == "years" and one != "*")]
        if special and special != ["l"]:
            raise UnsaidError(f"'{given['cron_string']}' has {special[0]!r} in its {name}, which cannot be said here")
        cron[name] = limit if field.any else [one % 7 if name == "weekdays" else one for one in field.allowed]
        cron["last_day"] = cron.get("last_day", False) or (name == "days" and "l" in field.split)
    cron.pop("years")

    def following(at: datetime) -> Any:  # noqa: ANN401 - of the library
        wall = at.astimezone(local_zone()).replace(tzinfo=None)
        while True:
            wall = read.next(now=wall, return_datetime=True, default_utc=False).replace(tzinfo=None)
            if (found := wall.replace(tzinfo=local_zone()).astimezone(timezone.utc)) > at:
                return found

    return {**made, "cron": cron, "zone": local_zone(), "times": stepped(following)}


# Huey ---------------------------------------------------------------------------------------------------------------


def _read_huey(spec: str, held: Held) -> Iterator[Found]:
    imported(spec, held.notes)
    for huey in held.huey or ():
        for task in huey._registry._periodic_tasks:
            place = f"{spec}: periodic task {task.__module__}.{task.__name__}"
            yield (place, task.__name__, partial(_huey_entry, huey, task))


def _huey_entry(huey: Any, task: Any) -> Entry:  # noqa: ANN401 - of Huey
    function = inspect.getclosurevars(task.execute).nonlocals.get("func")
    made = called(function, (), {})
    validate: Any = inspect.getclosurevars(task.validate_datetime).nonlocals.get("validate_datetime")
    inner = inspect.getclosurevars(validate).nonlocals if inspect.isfunction(validate) else {}
    if "cron_settings" not in inner or validate.__module__ != "huey.api":
        raise UnsaidError("its schedule is a function of its own")
    months, days, weekdays, hours, minutes = inner["cron_settings"]
    zone = timezone.utc if huey.utc else local_zone()
    names = ("priority", "expires", "retry_backoff")
    lost = {name: getattr(task, f"default_{name}", None) or None for name in names}
    settings = {name: getattr(task, f"default_{name}", None) or None for name in ("retries", "retry_delay", "timeout")}

    def times(since: int, until: int) -> Iterator[int]:
        for begin in range(since // 900 * 900, until + 1, 900):
            wall = datetime.fromtimestamp(begin, zone)
            if wall.hour not in hours or wall.day not in days or wall.month not in months:
                continue
            for at in range(begin, begin + 900, 60):
                is_asked = since < at <= until and wall.minute + (at - begin) // 60 in minutes
                if is_asked and validate(datetime.fromtimestamp(at, zone).replace(tzinfo=None)):
                    yield at

    cron = {
        "minutes": minutes, "hours": hours, "days": days, "months": months, "weekdays": [day % 7 for day in weekdays],
    }  # fmt: skip
    return {
        **made, "method": "call_local", "cron": cron, "zone": zone, "times": times, "settings": settings,
        "text": f"{made['function']}: crontab of {cron}" if sum(map(len, cron.values())) < 40 else made["function"],
        "notes": made["notes"] + unused(lost),
    }  # fmt: skip


# The answer --------------------------------------------------------------------------------------------------------


def _hold() -> Held:
    """Keep the schedulers that the project makes, of every library: none starts or writes to its broker."""
    return Held(
        recorded("apscheduler.schedulers.base", "BaseScheduler", "start", "shutdown"),
        recorded("rq.cron", "CronScheduler", "start"),
        recorded("huey.api", "Huey", "create_consumer"),
        _rq_scheduler_calls(),
        [],
    )


def _answered(program: str, spec: str, start: int, end: int) -> Entry:
    """Return the schedules and notes of a project, or the error that prevents it."""
    try:
        import_module(program)
    except ImportError as error:
        return {
            "error": f"{sys.executable} cannot import {program} ({error}); name the project's Python: --python PATH"
        }
    alarm(IMPORT_SECONDS)
    try:
        held = _hold()
        if os.environ.get("DJANGO_SETTINGS_MODULE"):
            import_module("django").setup()
        read = {"celery": _read_celery, "apscheduler": _read_apscheduler, "rq": _read_rq, "huey": _read_huey}[program]
        found = list(read(spec, held))
        alarm(0)
    except BaseException as error:  # noqa: BLE001 - a project may raise anything
        return {"error": fault(error, spec)}
    return {"entries": [entry_of(*one, start, end) for one in found], "notes": held.notes}


def main() -> None:
    """Answer the request that is the last argument."""
    request: Entry = json.loads(sys.argv.pop())
    sys.path.insert(0, request["folder"])
    if hasattr(time, "tzset"):
        time.tzset()
    os.environ.setdefault("CELERY_SKIP_CHECKS", "1")
    answer = _answered(request["program"], request["app"], request["start"], request["end"])
    Path(request["answer"]).write_text(json.dumps(answer), encoding="utf-8")
    os._exit(0)  # threads and exit handlers of the project do not run
