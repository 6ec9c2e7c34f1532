"""Projects with the real Celery, APScheduler, RQ, rq-scheduler and Huey: what they say is what becomes a task."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cronograph.server.importing.asking import ask
from cronograph.server.importing.report import compare, jobs_module, report, summary
from tests.server.importing.projects import START, asked, named, span, tasks, verdicts, written

pytestmark = pytest.mark.costly

CELERY: tuple[dict[str, Any], ...] = (
    {"minute": 0, "hour": 3},
    {"minute": "*/15", "hour": "2"},
    {"minute": 30, "hour": "*/2"},
    {"minute": 0, "hour": "22-3"},
    {"minute": 5, "hour": 4, "day_of_month": "13", "day_of_week": "fri"},
    {"minute": 30, "hour": 2, "day_of_week": "sat-mon"},
    {"minute": "0,30", "hour": [1, 2, 3], "month_of_year": "*/3"},
    {"minute": 7, "hour": "*/3", "day_of_week": "monday,wednesday"},
    {"minute": 0, "hour": 0, "day_of_month": 1, "month_of_year": "nov-feb"},
    {"minute": 0, "hour": 0, "day_of_month": "29", "month_of_year": "2"},
    {"minute": 0, "hour": 12, "day_of_week": [0, 6]},
    {},
)
HUEY: tuple[dict[str, str], ...] = (
    {"minute": "*/15", "hour": "2"},
    {"minute": "0", "hour": "0", "day": "*/2"},
    {"minute": "0", "hour": "22-3"},
    {"minute": "0", "hour": "1", "day_of_week": "5-1"},
    {"minute": "0", "hour": "9", "day_of_week": "7"},
    {"minute": "0", "hour": "0", "day": "13", "day_of_week": "5"},
    {"minute": "30", "hour": "*/7", "day_of_week": "6-7"},
    {"minute": "1, 2", "hour": "1,4"},  # Huey leaves out the part with a blank
)
RQ = (
    "0 3 * * *", "*/15 2 * * *", "30 2 * * *", "0 0 13 * 5", "0 0 */2 * 1", "0 0 */1 * 1", "5/15 4 * * *",
    "0 22-3 * * *", "0 9 L * *", "0 9 * * fri#2", "0 9 * * L5", "0 9 * * sat-mon", "0 12 1,15 * * 30", "@weekly",
    "0 9 * * 7",
)  # fmt: skip
RQ_SCHEDULER = (
    "0 3 * * *", "0 0 13 * 5", "5/15 4 * * *", "0 9 L * *", "0 9 * * sat-sun", "0 0 1 */4 *", "0 12 * jan-mar mon-fri",
)  # fmt: skip
APSCHEDULER: tuple[dict[str, Any], ...] = (
    {"hour": 4},
    {"minute": "*/15", "hour": 2},
    {"day_of_week": 0, "hour": 1},
    {"day_of_week": "0,fri", "hour": 1},
    {"day": "3rd fri", "hour": 9},
    {"day": "last", "hour": 9},
    {"day": "last sun", "hour": 2, "minute": 30},
    {"day": "13", "day_of_week": "fri"},
    {"month": "jan,jul", "day": 1},
    {"second": "*/20", "minute": "5/25", "hour": 1},
    {"day": "*/3"},
    {"day": "1st mon,3rd mon"},
    {"hour": "*/7", "minute": "*/7"},
    {"hour": "22-23,0-2/2"},
    {"second": "*"},
)
PROJECTS = {
    "celery": (CELERY, """
from os import environ
from celery import Celery
from celery.schedules import crontab
app = Celery("shop")
app.conf.timezone = environ["TZ"]
app.conf.beat_schedule = {f"n{i}": {"task": "t", "schedule": crontab(**one)} for i, one in enumerate(GIVEN)}
"""),
    "huey": (HUEY, """
from huey import MemoryHuey, crontab
from work import one
huey = MemoryHuey(utc=False)
for i, fields in enumerate(GIVEN):
    huey.periodic_task(crontab(**fields), name=f"n{i}")(one)
"""),
    "rq": ((*RQ, *RQ_SCHEDULER), f"""
from redis import Redis
from rq import cron
from rq_scheduler import Scheduler
from work import one
scheduler = Scheduler(connection=Redis(port=1))
for job in scheduler.get_jobs():
    scheduler.cancel(job)
for i, text in enumerate(GIVEN):
    if i < {len(RQ)}:
        cron.register(one, "q", cron=text, name=f"n{{i}}")
    else:
        scheduler.cron(text, one, id=f"n{{i}}", use_local_timezone=True)
"""),
    "apscheduler": (APSCHEDULER, """
from apscheduler.schedulers.background import BackgroundScheduler
from work import one
scheduler = BackgroundScheduler()
for i, fields in enumerate(GIVEN):
    scheduler.add_job(one, "cron", id=f"n{i}", **fields)
"""),
}  # fmt: skip


@pytest.mark.timeout(300)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("program", PROJECTS)
def test_the_tasks_are_due_when_the_library_itself_says(program: str, zone: str, here: Path) -> None:
    given, source = PROJECTS[program]
    written(here, project=f"GIVEN = {given!r}\n{source}")
    found = asked(program, "project", zone)
    assert (len(found.carried), found.left_out) == (len(given), [])
    for one in found.carried:
        compared = compare(one)
        assert compared is not None
        assert compared.theirs
        assert not compared.different or (zone != "UTC" and compared.by_clock), one.text


def test_the_beat_of_celery(here: Path) -> None:
    written(here, shop__tasks=CELERY_TASKS, shop__celery=CELERY_APP)
    found = asked("celery", "shop", "America/New_York")
    made = tasks(found, here)
    assert {name: (one["schedule"].value, one["schedule"].timezone) for name, one in made.items()} == {
        "nightly": ("0 30 3 * * *", "Europe/Berlin"),
        "often": ("30s", "UTC"),
        "hourly": ("3600s", "UTC"),
        "each": ("90s", "UTC"),
        "greets": ("10s", "UTC"),
        "shop.tasks.clean": ("0 0 7 * * MON", "Europe/Berlin"),
    }
    assert (made["nightly"]["job_name"], made["nightly"]["args"]) == ("nightly", {"a": 16, "b": ["x"]})
    assert (made["often"]["group"], made["often"]["timeout"]) == ("fast", 30)
    assert made["hourly"]["args"] == {"deep": True}
    assert named(found, "often").notes == ["expires=9 is not carried."]
    assert named(found, "nightly").notes == ["A tuple or set among its arguments is a list here."]
    assert named(found, "greets").args == {"name": "hello"}
    assert {one.place.partition("'")[2][:-2]: one.why for one in found.left_out} == {
        "own": "its schedule is a Moon, which cannot be said here",
        "clock": "its schedule has a clock of its own, nowfun",
        "fast": "an interval is at least one second here, got 0.5 s",
        "nothing": "it names no task",
        "object": "the argument <object> is no plain value",
    }
    assert verdicts(found)["nightly"] is True
    assert not (here / "celerybeat-schedule").exists()


CELERY_TASKS = """
from shop.celery import app

@app.task
def nightly(a, b): ...

@app.task(bind=True)
def greet(self, name): ...

@app.task
def clean(): ...

@app.task
def poll(deep=False): ...
"""
CELERY_APP = """
import logging
from datetime import timedelta
from celery import Celery
from celery.schedules import BaseSchedule, crontab, schedule
print("{not json}", flush=True)
RATES = {("eu", "std"): 20, ("eu", "low"): 7}

class Odd:
    def __repr__(self): return "<object>"

class Moon(BaseSchedule): ...

app = Celery("shop", broker="amqp://nobody@192.0.2.1//", include=["shop.tasks"])
app.conf.timezone = "Europe/Berlin"
app.conf.beat_schedule = {
    "nightly": {"task": "shop.tasks.nightly", "schedule": crontab(minute=30, hour=3), "args": (16, ("x",))},
    "often": {"task": "shop.tasks.poll", "schedule": timedelta(seconds=30),
              "options": {"queue": "fast", "expires": 9, "time_limit": 30}},
    "hourly": {"task": "shop.tasks.poll", "schedule": 60 * 60, "kwargs": {"deep": True}},
    "each": {"task": "shop.tasks.poll", "schedule": schedule(run_every=90.0)},
    "own": {"task": "shop.tasks.sun", "schedule": Moon()},
    "clock": {"task": "shop.tasks.sun", "schedule": crontab(nowfun=lambda: None)},
    "fast": {"task": "shop.tasks.poll", "schedule": 0.5},
    "nothing": {"schedule": 10.0},
    "object": {"task": "shop.tasks.poll", "schedule": 10.0, "args": (Odd(),)},
}

@app.on_after_finalize.connect
def more(sender, **kwargs):
    from shop.tasks import clean, greet
    sender.add_periodic_task(10.0, greet.s("hello"), name="greets")
    sender.add_periodic_task(crontab.from_string("0 7 * * 1"), clean.si(), name="shop.tasks.clean")
"""


def test_settings_of_celery_without_an_app_are_read_with_their_zone(here: Path) -> None:
    source = """
from celery.schedules import crontab
TIME_ZONE = "Asia/Kolkata"
CELERY_TIMEZONE = TIME_ZONE
CELERY_BEAT_SCHEDULE = {"nightly": {"task": "shop.nightly", "schedule": crontab(hour=3, minute=0)}}
"""
    written(here, settings=source)
    (nightly,) = asked("celery", "settings", "America/New_York").carried
    assert nightly.schedules[0].timezone == "Asia/Kolkata"
    assert nightly.notes == [
        "The task 'shop.nightly' is not registered in the app: correct the name of its function.",
    ]


SUBCLASSES = """
from datetime import timedelta
from celery import Celery
from celery.schedules import crontab, schedstate
from zoneinfo import ZoneInfo

class BusinessDays(crontab):
    def is_due(self, last_run_at):
        return schedstate(False, 3600) if self.now().day == 25 else super().is_due(last_run_at)

class TzAwareCrontab(crontab):
    def __init__(self, *fields, tz, **more):
        self.tz = tz
        super().__init__(*fields, nowfun=lambda: None, **more)

app = Celery("shop")
app.conf.task_routes = {"shop.*": {"queue": "routed"}}
@app.task(name="shop.own", queue="own", time_limit=30, rate_limit="9/m", autoretry_for=(ValueError,))
def own(): ...
@app.task(name="shop.plain")
def plain(): ...
app.conf.beat_schedule = {
    "days": {"task": "shop.own", "schedule": BusinessDays(hour=1, minute=0)},
    "zone": {"task": "shop.own", "schedule": TzAwareCrontab("0", "3", tz=ZoneInfo("Asia/Tokyo"))},
    "even": {"task": "shop.plain", "schedule": timedelta(hours=6), "relative": True},
    "short": {"task": "shop.plain", "schedule": 30, "relative": True},
    "minute": {"task": "shop.plain", "schedule": 60, "relative": True},
    "hour": {"task": "shop.plain", "schedule": timedelta(hours=1), "relative": True},
    "day": {"task": "shop.plain", "schedule": timedelta(days=1), "relative": True},
}
app.conf.timezone = "Asia/Kolkata"
"""


def test_a_crontab_that_decides_by_itself_is_left_out_and_what_celery_tasks_say_is_carried(here: Path) -> None:
    written(here, project=SUBCLASSES)
    found = asked("celery", "project")
    assert [one.why for one in found.left_out] == ["its schedule is a BusinessDays, which cannot be said here"]
    zone, even, short, *rounded = found.carried
    assert (zone.schedules[0].timezone, zone.settings) == ("Asia/Tokyo", {"group": "own", "timeout": 30})
    assert [note.partition("=")[0] for note in zone.notes] == ["rate_limit", "autoretry_for"]
    routes = "task_routes choose its queue there: write it as `group`."
    assert even.notes == [routes, "relative=True is not carried: Celery rounds each of its times down to the hour."]
    assert (short.schedules[0].value, short.notes) == ("30s", [routes])
    assert [(one.schedules[0].value, one.schedules[0].timezone, one.notes) for one in rounded] == [
        ("0 * * * * *", "Asia/Kolkata", [routes]),
        ("0 0 * * * *", "Asia/Kolkata", [routes]),
        ("0 0 0 * * *", "Asia/Kolkata", [routes]),
    ]
    assert verdicts(found)["day"] is True


def test_a_schedule_of_rq_scheduler_begins_at_its_first_time(here: Path) -> None:
    source = """
from datetime import datetime
from redis import Redis
from rq_scheduler import Scheduler
from work import one, sync
scheduler = Scheduler(connection=Redis(port=1))
scheduler.schedule(datetime(2099, 1, 1, 9), one, interval=3600)
scheduler.schedule(datetime(2001, 1, 1, 9), sync, interval=60)
scheduler.schedule(datetime(2001, 1, 1, 9), sync, interval=60, repeat=0)
"""
    written(here, project=source)
    found = asked("rq", "project", "Asia/Tokyo")
    starts = {name: str(one.get("start_at")) for name, one in tasks(found, here).items()}
    assert starts == {"one": "2099-01-01 09:00:00+00:00", "sync": "None"}
    assert [one.why for one in found.left_out] == ["it is due once: enqueue it instead"]


def test_a_store_of_celery_that_is_not_read_is_named(here: Path) -> None:
    source = "from celery import Celery\nred = Celery()\nred.conf.beat_scheduler = 'django_celery_beat:Database'\n"
    written(here, project=source)
    assert [note.partition(":")[0] for note in asked("celery", "project").notes] == [
        "beat_scheduler is django_celery_beat"
    ]


def test_of_several_apps_the_one_that_is_read_is_named(here: Path) -> None:
    source = """
from celery import Celery
red, blue = Celery("red"), Celery("blue")
for one in (red, blue):
    one.conf.beat_schedule = {one.main: {"task": "t", "schedule": 60}}
"""
    written(here, project=source)
    said = "project has 2 Celery apps, and only 'red' is read; name another: project:NAME."
    assert said in asked("celery", "project").notes
    assert said not in asked("celery", "project:blue").notes


def test_a_project_that_adds_its_jobs_when_it_starts_is_told_so(here: Path) -> None:
    made = "from apscheduler.schedulers.background import BackgroundScheduler\n"
    written(here, project=f"{made}scheduler = BackgroundScheduler()\n", other=made)
    (note,) = asked("apscheduler", "project").notes
    assert note.startswith("project: scheduler 1 of 1 has no jobs yet: what a program adds only when it starts is not")
    (note,) = asked("apscheduler", "other").notes
    assert note.startswith("The import of other made no scheduler: what a program adds")


def test_an_interval_whose_start_has_a_part_of_a_second_is_compared_by_seconds(here: Path) -> None:
    source = """
from datetime import datetime, timezone
from apscheduler.schedulers.background import BackgroundScheduler
from work import one
start = datetime(2026, 1, 1, 0, 0, 0, 447780, tzinfo=timezone.utc)
BackgroundScheduler().add_job(one, "interval", minutes=5, start_date=start, id="grid")
"""
    written(here, project=source)
    now = datetime.now(UTC).replace(microsecond=0)
    assert verdicts(ask("apscheduler", "project", sys.executable, "UTC", span(now))) == {"grid": True}


APSCHEDULERS = """
from datetime import datetime, timedelta
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger
from work import clean, one, sync, two

EVERY = {"hours": 2}
a = BackgroundScheduler(timezone="Asia/Tokyo", job_defaults={"coalesce": False, "misfire_grace_time": 30})
b = BlockingScheduler(timezone="Europe/Berlin")
a.add_job(sync, "interval", **EVERY)
a.add_job(clean, "cron", hour=3, **{"minute": 30}, id="clean")
a.add_job(clean, "cron", hour=4, id="clean", replace_existing=True)
a.start()

@b.scheduled_job("cron", day_of_week="0", hour=6, id="weekly", misfire_grace_time=300)
def tick(): ...

b.add_job(one, CronTrigger.from_crontab("0 6 * * 0", timezone="Asia/Kolkata"), args=[7], kwargs={"b": 3})
b.add_job("work:two", "interval", minutes=5, args=["ada"], max_instances=3, next_run_time=None)
b.add_job(one, IntervalTrigger(weeks=2, start_date="2026-01-05 09:00:00", timezone="UTC"), id="grid")
b.add_job(one, "cron", day="last", hour=9, jitter=60, start_date="2027-01-01", id="jitter")
b.add_job(one, "date", run_date=datetime(2040, 1, 1), id="once")
b.add_job(one, "cron", year="2027", hour=1, id="year")
b.add_job(one, "cron", week="*/2", day_of_week="mon", id="week")
b.add_job(one, OrTrigger([CronTrigger(hour=1), CronTrigger(hour=2)]), id="or")
b.add_job(one, id="at once")
b.add_job(lambda: None, "interval", seconds=3, id="lambda")
try:
    b.start()
    raise RuntimeError("a blocking scheduler has come back, as it does after its end")
except RuntimeError:
    b.shutdown()
"""


def test_every_scheduler_of_apscheduler_is_read_and_none_started(here: Path) -> None:
    written(here, project=APSCHEDULERS)
    found = asked("apscheduler", "project.py", "Europe/Paris")
    made = tasks(found, here)
    assert {name: (one["schedule"].value, one["schedule"].timezone) for name, one in made.items()} == {
        "sync": ("7200s", "UTC"),
        "clean": ("0 0 4 * * *", "Asia/Tokyo"),
        "weekly": ("0 0 6 * * MON", "Europe/Berlin"),
        "one": ("0 0 6 * * MON", "Asia/Kolkata"),
        "two": ("300s", "UTC"),
        "grid": ("1209600s", "UTC"),
        "jitter": ("0 0 9 L * *", "Europe/Berlin"),
        "once": ("2040-01-01T00:00:00+01:00", "UTC"),
    }
    assert (made["clean"]["misfire"].value, made["clean"]["misfire_grace"]) == ("all", 30)
    assert made["weekly"]["misfire_grace"] == 300
    assert made["one"]["args"] == {"a": 7, "b": 3}
    assert (made["two"]["overlap"].value, made["two"]["enabled"]) == ("allow", False)
    assert made["jitter"]["start_at"].isoformat() == "2027-01-01T00:00:00+01:00"
    assert made["jitter"]["jitter"] == 60
    assert named(found, "two").notes == [
        "max_instances=3: here `overlap: allow` has no such limit.",
        "Its arguments are given by place: write their names into the task, or write a jobs module.",
    ]
    assert verdicts(found) == {
        "sync": None, "clean": True, "weekly": True, "one": True, "two": None, "grid": True, "jitter": True,
        "once": None,
    }  # fmt: skip
    assert {one.place.rpartition("job ")[2]: one.why.partition(":")[0] for one in found.left_out} == {
        "year": "year",
        "week": "week",
        "or": "it has the trigger or[cron[hour='1'], cron[hour='2']]; only cron, interval and date are carried",
        "at once": "it has no trigger, or one in the past, which runs it at once",
        "lambda": "its function <lambda> has no name that can be imported",
    }


QUEUES = """
import os
from huey import SqliteHuey, crontab
from redis import Redis
from rq import cron
from rq.cron import register
from rq_scheduler import Scheduler
from work import one, sync

huey = SqliteHuey(filename=":memory:")

@huey.periodic_task(crontab(minute="0", hour="*/6"), retries=2, retry_delay=60, priority=3)
def every_six(): ...

@huey.periodic_task(lambda moment: True)
def own(): ...

for queue in ("a", "b"):
    register(sync, queue, cron="@daily")
cron.register(one, queue_name="fast", args=(1, 2), cron="0 0 13 * 5", job_timeout="90m")
cron.register(sync, "slow", interval=120, ttl=9)
cron.register(one, "slow", cron="0 99 * * *")
cron.register(one, "slow", cron="0 R(0-5) * * *")
cron.register(one, "slow", cron="0 0 15W * *")
scheduler = Scheduler("own", connection=Redis(port=1))
job = scheduler.cron("0 0 13 * 5", func=one, args=[3], repeat=10, queue_name="slow", timeout=60)
job.meta["id"] = job.id
job.save()
scheduler.schedule(scheduled_time=None, func="work.sync", interval=60)
scheduler.cron("0 9 * * L5", func=sync)
scheduler.enqueue_at(None, sync)
"""


def test_huey_and_both_schedulers_of_rq(here: Path) -> None:
    written(here, project=QUEUES)
    of_huey, of_rq = asked("huey", "project", "Asia/Tokyo"), asked("rq", "project", "Asia/Tokyo")
    (every_six,) = of_huey.carried
    assert (every_six.schedules[0].value, every_six.schedules[0].timezone) == ("0 0 */6 * * *", "UTC")
    assert every_six.settings == {"retries": 2, "retry_delay": 60}
    assert every_six.notes == ["priority=3 is not carried."]
    assert [one.why for one in of_huey.left_out] == ["its schedule is a function of its own"]
    made = tasks(of_rq, here)
    assert {name: (one["schedule"].value, one["group"]) for name, one in made.items()} == {
        "sync": ("0 0 0 * * *", "a"),
        "sync-2": ("0 0 0 * * *", "b"),
        "one": ("0 0 0 13 * *", "fast"),
        "one-part-2": ("0 0 0 1-12,14-31 * FRI", "fast"),
        "sync-3": ("120s", "slow"),
        "one-2": ("0 0 0 13 * FRI", "slow"),
        "sync-4": ("60s", "own"),
    }
    assert (made["one"]["timeout"], made["one-2"]["timeout"], made["one-2"]["args"]) == (5400, 60, {"a": 3})
    assert named(of_rq, "one-2").notes == ["repeat=10 is not carried."]
    assert [one.why for one in of_rq.left_out] == [
        "CroniterBadCronError: [0 99 * * *] is not acceptable, out of range",
        "'0 R(0-5) * * *' has a number that croniter chooses at random or by a name (R, H)",
        "'0 0 15W * *' has the weekday nearest to a day (W), which is not carried: write it by hand",
        "'0 9 * * L5' has 'l5' in its weekdays, which cannot be said here",
    ]
    assert set(verdicts(of_rq).values()) == {True, None}


def test_a_module_calls_the_functions_as_the_program_did(here: Path) -> None:
    (here / "work.py").write_text("CALLS = []\ndef one(*args):\n    CALLS.append(args)\ndef sync(*args): ...\n")
    written(here, project=QUEUES)
    (here / "moved_jobs.py").write_text(jobs_module(asked("rq", "project")))
    code = "import moved_jobs as m, work; m.one(); m.one_part_2(); d = m.one_part_2.definition; "
    code += "print(work.CALLS, d.schedule.value, d.policies.defaults.timeout)"
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=False)
    assert done.stdout == "[(1, 2), (1, 2)] 0 0 0 1-12,14-31 * FRI 5400\n", done.stderr


CALLED = """
import functools
from apscheduler.schedulers.asyncio import AsyncIOScheduler
import work
scheduler = AsyncIOScheduler(timezone="UTC")
for name, function in {
    "own": work.Service().run, "callable": work.Service(), "part": functools.partial(work.note, 3),
    "of class": work.Service.of_class, "plain": work.Service.plain, "waits": work.waits, "inner": work.Service.waits,
}.items():
    scheduler.add_job(function, "cron", hour=3, id=name)
"""
CALLEES = """
CALLS = []
def note(what): CALLS.append(what)
async def waits(): CALLS.append("waits")
class Service:
    def __call__(self): ...
    def run(self): ...
    @classmethod
    def of_class(cls): CALLS.append(cls.__name__)
    @staticmethod
    def plain(): CALLS.append("plain")
    @staticmethod
    async def waits(): CALLS.append("inner")
"""


def test_a_module_awaits_coroutines_and_calls_functions_of_classes(here: Path) -> None:
    (here / "work.py").write_text(CALLEES)
    written(here, project=CALLED)
    found = asked("apscheduler", "project")
    (here / "moved_jobs.py").write_text(jobs_module(found))
    code = "import asyncio, moved_jobs as m, work; m.of_class(); m.plain(); asyncio.run(m.waits()); "
    code += "asyncio.run(m.inner()); print(*work.CALLS)"
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=False)
    assert done.stdout == "Service plain waits inner\n", done.stderr
    assert {one.place.rpartition("job ")[2]: one.why for one in found.left_out} == {
        "own": "its function Service.run is a method of an object that only the project has",
        "callable": "its function Service has no name that can be imported",
        "part": "its function partial has no name that can be imported",
    }


def test_a_script_that_waits_for_its_scheduler_is_read_up_to_there(here: Path) -> None:
    source = f"GIVEN = [{{'hour': 3}}]\n{PROJECTS['apscheduler'][1]}\nscheduler.start()\nimport threading\n"
    written(here, project=f"{source}threading.Event().wait()\n")
    found = asked("apscheduler", "project")
    assert [one.name for one in found.carried] == ["n0"]
    assert found.notes[-1] == "The import of project did not end and was cut off: schedules added later are not read."
    assert "did not end" in report(found, START)
    assert "did not end" in summary(found, START)["notes"][-1]


ODD_CELERY = """
from datetime import timedelta
from celery import Celery
from kombu import Queue
app = Celery("odd")
@app.task
def t(*args): ...
def due(**more): return {"task": "odd.t", "schedule": 60, **more}
app.conf.beat_schedule = {
    "queue": due(options={"queue": Queue("high"), "time_limit": timedelta(minutes=5)}),
    "limit": due(options={"time_limit": 10**12, "soft_time_limit": 5}),
    "object": due(options={"time_limit": object()}),
    "large": due(args=[2**70]),
    "words": due(kwargs={"a b": 1, "class": 2, "plain": 3}),
    "larger": due(args=[10**5000]),
    "nul": due(args=["a\\0b"]),
    "half": due(kwargs={"a": ["\\ud800"]}),
    "long": {"task": "odd.t", "schedule": timedelta.max},
}
"""


def test_what_no_task_has_costs_only_what_it_is_part_of(here: Path) -> None:
    written(here, odd=ODD_CELERY)
    found = asked("celery", "odd")
    made = tasks(found, here)
    assert {name: {key: one[key] for key in ("group", "timeout") if key in one} for name, one in made.items()} == {
        "queue": {"group": "high", "timeout": 300},
        "limit": {},
        "object": {},
        "large": {},
        "words": {},
    }
    assert "odd.t(plain=3, **{'a b': 1, 'class': 2})" in jobs_module(found)
    assert [note.partition(" is not carried")[0][:24] for note in named(found, "limit").notes] == [
        "timeout=1000000000000"
    ]
    assert [note[:16] for note in named(found, "object").notes] == ["timeout=<object "]
    assert [one.place.rpartition("[")[2] for one in found.left_out] == ["'larger']", "'nul']", "'half']", "'long']"]
    assert verdicts(found).keys() == made.keys()


ODD_APSCHEDULER = """
from datetime import datetime, timezone
from apscheduler.schedulers.background import BackgroundScheduler
from dateutil.tz import tzoffset, tzutc
from work import one
scheduler = BackgroundScheduler(timezone=tzutc())
def add(name, kind="cron", **more): scheduler.add_job(one, kind, id=name, **more)
add("east", hour=3, timezone=tzoffset(None, 7200))
add("half", hour=3, timezone=tzoffset(None, 1800))
add("over", hour=3, end_date="2001-01-01")
add("empty", hour=3, start_date="2098-01-01", end_date="2097-01-01")
add("ended", "interval", seconds=60, end_date="2001-01-01")
add("far", "date", run_date=datetime(9999, 12, 31, tzinfo=timezone.utc))
add("patient", hour=3, misfire_grace_time=10**12, jitter=10**10)
"""


def test_a_schedule_that_is_over_is_left_out_and_a_grace_that_no_clock_holds_is_a_note(here: Path) -> None:
    written(here, odd=ODD_APSCHEDULER)
    found = asked("apscheduler", "odd", "Europe/Berlin")
    made = tasks(found, here)
    assert {name: one["schedule"].timezone for name, one in made.items()} == {
        "east": "Etc/GMT-2", "patient": "UTC",
    }  # fmt: skip
    assert made["patient"].keys() == {"job_name", "schedule"}
    lost = {note.partition("=")[0] for note in named(found, "patient").notes if "=" in note}
    assert lost == {"misfire_grace", "jitter"}
    assert [one.place.rpartition(" ")[2] for one in found.left_out] == ["half", "over", "empty", "ended", "far"]
