"""Asks the programs themselves when their schedules fire over two years, and keeps what they say beside this module.

``python -m tests.server.importing.originals CRONIE`` where Celery, Huey, RQ, rq-scheduler and croniter are installed.
The tests do not need them: they compare with what is kept. ``CRONIE`` prints the instants of five fields,
made of cronie's own parser: it takes the fields, and the first and last second.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

KEPT = Path(__file__).with_name("originals.json")
START = datetime(2026, 11, 23, 12, 34, 56, tzinfo=UTC)
END = START + timedelta(days=731)
ZONES = ("UTC", "Europe/Berlin")
CRONTAB = (
    "0 3 * * *", "*/15 2 * * *", "0 0 13 * 5", "0 0 */2 * 1", "30 4 1,15 * 5", "0 9 * * 7", "0 9 * * sat-sun",
    "0 9 * * 0-7/2", "59 23 31 12 Mon-Fri", "0 0 1-31 * 5", "7 */6 * jan-mar,OCT *", "0 12 * * */2",
    "10-50/20 0,12 31 * *", "22-3 * * * *", "5/15 * * * *", "0 0 * * fri-mon", "0 8 * * 5-0",
)  # fmt: skip
CELERY: tuple[dict[str, Any], ...] = (
    {"minute": 0, "hour": 3},
    {"minute": "*/15", "hour": "2"},
    {"minute": 30, "hour": "*/2"},
    {"minute": 0, "hour": "22-3"},
    {"minute": 5, "hour": 4, "day_of_month": "13", "day_of_week": "fri"},
    {"minute": 0, "hour": 0, "day_of_month": "*/3"},
    {"minute": 30, "hour": 2, "day_of_week": "sat-mon"},
    {"minute": "0,30", "hour": [1, 2, 3], "month_of_year": "*/3"},
    {"minute": 7, "hour": "*/3", "day_of_week": "monday,wednesday"},
    {"minute": 0, "hour": 0, "day_of_month": 1, "month_of_year": "nov-feb"},
    {"minute": 0, "hour": 0, "day_of_week": "*/2"},
    {"minute": 0, "hour": 0, "day_of_month": "29", "month_of_year": "2"},
    {"minute": 0, "hour": 12, "day_of_week": [0, 6]},
    {"minute": 0, "hour": 12, "day_of_week": "sunday"},
    {"minute": "10-50/20,5", "hour": "8-18/5"},
    {"minute": 0, "hour": 0, "day_of_month": "31", "month_of_year": "*/2"},
)
HUEY: tuple[dict[str, str], ...] = (
    {"minute": "0", "hour": "3"},
    {"minute": "*/15", "hour": "2"},
    {"minute": "0", "hour": "0", "day": "*/2"},
    {"minute": "0", "hour": "22-3"},
    {"minute": "0", "hour": "1", "day_of_week": "5-1"},
    {"minute": "0", "hour": "0", "day": "1", "month": "*/5"},
    {"minute": "0", "hour": "9", "day_of_week": "7"},
    {"minute": "0", "hour": "0", "day": "13", "day_of_week": "5"},
    {"minute": "30", "hour": "*/7", "day_of_week": "6-7"},
    {"minute": "5", "hour": "0", "day": "25-5"},
    {"minute": "0", "hour": "22-4/2"},
    {"minute": "0", "hour": "0", "day_of_week": "7-2"},
    {"minute": "*/45", "hour": "1", "day": "*/10"},
)
RQ = (
    "0 3 * * *", "*/15 2 * * *", "30 2 * * *", "0 0 13 * 5", "0 0 */2 * 1", "5/15 4 * * *", "0 22-3 * * *", "0 9 L * *",
    "0 9 * * fri#2", "0 9 * * L5", "0 9 * * sat-mon", "0 12 1,15 * * 30", "0 0 1 */4 *", "0 9 * * 7",
    "0 0 29 2 *", "0 0 31 * 1", "0 12 * jan-mar mon-fri", "0 12 * * */2", "0 0 1-7 * mon",
    "30 1-5/2 * * *", "0 9 * * 1#1", "0 9 * * 0",
)  # fmt: skip
RQ_SCHEDULER = (
    "0 3 * * *", "0 0 13 * 5", "5/15 4 * * *", "0 9 L * *", "0 9 * * sat-sun", "0 9 * * 7", "0 0 1 */4 *",
    "0 12 * jan-mar mon-fri", "30 1-5/2 * * *", "0 12 * * 0",
)  # fmt: skip


def digest(times: list[datetime]) -> str:
    """A short word for these times."""
    return sha256(" ".join(str(int(one.timestamp())) for one in times).encode()).hexdigest()[:16]


def of_cronie(program: str, fields: str, zone: str) -> list[datetime] | None:
    first = int(START.timestamp()) // 60 * 60 + 60
    words = [program, f"{fields} x", str(first), str(int(END.timestamp()))]
    done = subprocess.run(words, env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=False)
    return None if done.returncode else [datetime.fromtimestamp(int(one), UTC) for one in done.stdout.split()]


def of_celery(given: dict[str, Any], zone: str) -> list[datetime]:
    app = import_module("celery").Celery()
    app.conf.timezone = zone
    found = [START]
    schedule = import_module("celery.schedules").crontab(**given, app=app, nowfun=lambda: found[-1])
    while found[-1] <= END:
        found.append((found[-1] + schedule.remaining_estimate(found[-1])).astimezone(UTC))
    return found[1:-1]


def of_huey(given: dict[str, str], zone: str) -> list[datetime]:
    fires = import_module("huey").crontab(**given)
    minutes = [START.replace(second=0) + timedelta(minutes=number) for number in range(1, 731 * 1440 + 1)]
    return [one for one in minutes if fires(one.astimezone(ZoneInfo(zone)).replace(tzinfo=None))]


def of_rq(text: str, zone: str) -> list[datetime]:
    in_zone(zone)
    module = import_module("rq.cron")
    vars(module)["now"] = lambda: START
    made = module.CronJob("q", func_name="x", cron=text)
    found: list[datetime] = []
    while made.next_enqueue_time <= END:
        found.append(made.next_enqueue_time)
        made.set_enqueue_time(made.next_enqueue_time)
    return found


def of_rq_scheduler(text: str, zone: str) -> list[datetime]:
    in_zone(zone)
    made = import_module("crontab").CronTab(text)
    wall = START.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    found: list[datetime] = []
    while not found or found[-1] <= END:
        wall = made.next(now=wall, return_datetime=True, default_utc=False).replace(tzinfo=None)
        found.append(wall.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC))
    return found[:-1]


def in_zone(zone: str) -> None:
    """This process' own time zone."""
    os.environ["TZ"] = zone
    time.tzset()


def asked(cronie: str) -> Iterator[dict[str, Any]]:
    ask: list[tuple[str, Any, Callable[[Any, str], list[datetime] | None]]] = [
        *(("crontab", one, lambda given, zone: of_cronie(cronie, given, zone)) for one in CRONTAB),
        *(("celery", one, of_celery) for one in CELERY),
        *(("huey", one, of_huey) for one in HUEY),
        *(("rq", one, of_rq) for one in RQ),
        *(("rq-scheduler", one, of_rq_scheduler) for one in RQ_SCHEDULER),
    ]
    for program, given, ask_it in ask:
        for zone in ZONES:
            found = ask_it(given, zone)
            row = {"count": None} if found is None else {"count": len(found), "digest": digest(found)}
            yield {"program": program, "given": given, "zone": zone, **row}


if __name__ == "__main__":
    KEPT.write_text("[\n" + ",\n".join(json.dumps(one) for one in asked(sys.argv[1])) + "\n]\n")
