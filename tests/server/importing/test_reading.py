"""Files of other programs, odd lines included, become tasks that can be applied, jobs that work, and a report."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cronograph.server.cli import application
from cronograph.server.importing.base.model import Import
from cronograph.server.importing.reading import read_program
from cronograph.server.importing.report import report, summary
from cronograph.server.importing.writing import jobs_module, tasks_file
from cronograph.server.task_files.reading import read_files

START = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)

CRONTAB = r"""
# m h dom mon dow command
SHELL=/bin/bash
PATH = "/usr/local/bin:/usr/bin"
MAILTO=ops@example.com
HOME=/srv

# every night
15 2 * * *  /usr/local/bin/backup.sh --to "$PLACE"
0 0 13 * 5 /usr/bin/party
5/15 * * * * odd-step
@reboot /usr/bin/start
30 4 1 * * report%Dear all,%100\% done%
0 0 31 2 * never
70 * * * * bad
~ 3 * * * random
@fortnightly unknown
1 2 3
CRON_TZ=America/New_York
-0 9 * * 1-5 FOO=1 /opt/open.py
CRON_TZ=Mars/Base
0 9 * * * lost
"""

CELERY = """
from datetime import timedelta
from celery import Celery
from celery.schedules import crontab, solar, schedule as each
from shop.tasks import clean, greet

app = Celery("shop")
HOUR = 60 * 60
app.conf.timezone = "Europe/Berlin"
app.conf.beat_schedule = {
    "nightly": {"task": "shop.tasks.nightly", "schedule": crontab(minute=30, hour=3), "args": (16, "a")},
    "friday": {"task": "shop.tasks.party", "schedule": crontab(0, 0, day_of_month="13", day_of_week="fri")},
    "often": {"task": "shop.tasks.poll", "schedule": timedelta(seconds=30), "options": {"queue": "fast", "expires": 9}},
    "hourly": {"task": "shop.tasks.poll", "schedule": HOUR, "kwargs": {"deep": True}},
    "each": {"task": "shop.tasks.poll", "schedule": each(run_every=90.0)},
    "sun": {"task": "shop.tasks.sun", "schedule": solar("sunset", -37.8, 144.9)},
    "bad": {"task": "shop.tasks.bad", "schedule": crontab(hour="25")},
    "late": {"task": "shop.tasks.late", "schedule": crontab(hour=hours())},
    "fast": {"task": "shop.tasks.fast", "schedule": 0.5},
    "no task": {"schedule": 10.0},
}

@app.on_after_configure.connect
def more(sender, **kwargs):
    sender.add_periodic_task(10.0, greet.s("hello"), name="greets")
    sender.add_periodic_task(crontab.from_string("0 7 * * 1"), clean.si())
    sender.add_periodic_task(crontab(), make())
"""

APSCHEDULER = """
from datetime import datetime
from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.triggers.cron import CronTrigger
from reports import monday, mail

scheduler = BlockingScheduler(timezone="Europe/Berlin")

@scheduler.scheduled_job("cron", day_of_week="0", hour=6, id="weekly", misfire_grace_time=300)
def tick():
    print("tick")

scheduler.add_job(monday, CronTrigger.from_crontab("0 6 * * 0"))
scheduler.add_job(mail, "interval", minutes=5, args=["ada"], max_instances=3, coalesce=False)
scheduler.add_job("reports:mail", trigger="cron", day="last", hour=9, jitter=60, start_date="2027-01-01")
scheduler.add_job(mail, "date", run_date=datetime(2030, 1, 1), args=["bob"])
scheduler.add_job(mail, "cron", year="2027", hour=1)
scheduler.add_job(mail, "cron", week="*/2", day_of_week="mon")
scheduler.add_job(mail)
scheduler.add_job(lambda: None, "interval", seconds=3)
scheduler.start()
"""

QUEUES = """
from huey import RedisHuey, crontab
from rq import cron
from rq_scheduler import Scheduler
from work import add, sweep

huey = RedisHuey()
scheduler = Scheduler(connection=None)

@huey.periodic_task(crontab(minute="0", hour="*/6"), retries=2, retry_delay=60, priority=3)
def every_six():
    pass

@huey.periodic_task(crontab(day_of_week="*/2"))
def strange():
    pass

cron.register(add, queue_name="fast", args=(1, 2), cron="0 0 13 * 5", job_timeout=60)
cron.register(sweep, "slow", interval=120, ttl=9)
scheduler.cron("0 0 13 * 5", func=sweep, args=[3], repeat=10, queue_name="slow")
scheduler.schedule(scheduled_time=None, func=sweep, interval=60, repeat=10)
scheduler.cron("x", func=sweep)
"""

TIMER = """
[Timer]
OnCalendar=
OnCalendar=Mon..Fri *-*-* 02:30
OnCalendar=quarterly
OnCalendar=never-ever
OnUnitActiveSec=1h 30min
RandomizedDelaySec=10m
Persistent=true
"""
SERVICE = """
[Service]
Description=Backs up
ExecStart=-/usr/bin/backup --quiet \\
    "two words"
WorkingDirectory=/srv
Environment="A=1 2" B=3
TimeoutStartSec=10min
User=backup
"""


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., Import]:
    def read(program: str, zone: str = "Europe/Berlin", **files: str) -> Import:
        for name, text in files.items():
            (tmp_path / name.replace("__", ".")).write_text(text)
        paths = [tmp_path / next(iter(files)).replace("__", ".")]
        return read_program(program, paths, zone)

    return read


def tasks(found: Import, folder: Path) -> dict[str, Any]:
    """The tasks as `apply` reads them."""
    path = folder / "tasks.yaml"
    path.write_text(tasks_file(found, "imported"))
    (only,) = read_files(path).sets
    return {task.name: task.settings for task in only.tasks}


def reasons(found: Import) -> dict[str, str]:
    return {f"{one.text[:28]}": one.why for one in found.left_out}


def verdicts(found: Import) -> dict[str, bool | None]:
    return {one["tasks"][0]: one["equal"] for one in summary(found, START)["carried"]}


def test_a_crontab_with_odd_lines(found: Callable[..., Import], tmp_path: Path) -> None:
    read = found("crontab", my__cron=CRONTAB)
    made = tasks(read, tmp_path)
    assert {name: (one["schedule"].value, one["schedule"].timezone) for name, one in made.items()} == {
        "backup": ("0 15 2 * * *", "Europe/Berlin"),
        "party": ("0 0 0 13 * *", "Europe/Berlin"),
        "party-part-2": ("0 0 0 1-12,14-31 * FRI", "Europe/Berlin"),
        "report": ("0 30 4 1 * *", "Europe/Berlin"),
        "open": ("0 0 9 * * MON-FRI", "America/New_York"),
    }
    assert made["backup"]["args"] == {
        "command": ["/bin/bash", "-c", '/usr/local/bin/backup.sh --to "$PLACE"'],
        "environment": {"PATH": "/usr/local/bin:/usr/bin", "HOME": "/srv"},
        "directory": "/srv",
    }
    assert made["backup"]["description"] == "every night"
    assert made["report"]["args"]["input"] == "Dear all,\n100% done\n"
    assert list(reasons(read)) == [
        "5/15 * * * * odd-step", "0 0 31 2 * never", "70 * * * * bad", "~ 3 * * * random",
        "@fortnightly unknown", "1 2 3", "0 9 * * * lost",
    ]  # fmt: skip
    assert "minute: '5/15' is a step without a range" in reasons(read)["5/15 * * * * odd-step"]
    assert [one.text for one in read.at_start] == ["@reboot /usr/bin/start"]
    assert "'Mars/Base' is no time zone" in reasons(read)["0 9 * * * lost"]
    assert set(verdicts(read).values()) == {True}


def test_a_crontab_of_the_system_has_users(tmp_path: Path) -> None:
    path = tmp_path / "crontab"
    path.write_text("17 * * * * root cd / && run-parts /etc/cron.hourly\n@daily bob tidy\n")
    (hourly, daily) = read_program("crontab", [path], "UTC", is_system=True).carried
    assert (hourly.args["command"], daily.args["command"]) == ("cd / && run-parts /etc/cron.hourly", "tidy")
    assert hourly.notes == ["It runs as user 'root' there, and as the user of the server here."]


def test_the_beat_of_celery(found: Callable[..., Import], tmp_path: Path) -> None:
    read = found("celery", beat__py=CELERY)
    made = {name: one["schedule"].value for name, one in tasks(read, tmp_path).items()}
    assert made == {
        "nightly": "0 30 3 * * *", "friday": "0 0 0 13 * FRI", "often": "30s", "hourly": "3600s", "each": "90s",
        "greets": "10s", "shop.tasks.clean": "0 0 7 * * MON",
    }  # fmt: skip
    assert tasks(read, tmp_path)["often"]["group"] == "fast"
    assert [one.place.rpartition(":")[2] for one in read.left_out] == ["16", "17", "18", "19", "20", "27"]
    assert "enqueue from a daily job" in read.left_out[0].why
    assert "The option expires=9 is not carried." in next(one for one in read.carried if one.name == "often").notes
    assert verdicts(read) == {
        "nightly": True, "friday": True, "often": None, "hourly": None, "each": None, "greets": None,
        "shop.tasks.clean": True,
    }  # fmt: skip


def test_apscheduler_counts_weekdays_from_monday(found: Callable[..., Import], tmp_path: Path) -> None:
    read = found("apscheduler", script__py=APSCHEDULER)
    made = tasks(read, tmp_path)
    assert {name: one["schedule"].value for name, one in made.items()} == {
        "weekly": "0 0 6 * * MON", "monday": "0 0 6 * * MON", "mail": "300s", "mail-2": "0 0 9 L * *",
        "mail-3": "2030-01-01T00:00:00+01:00",
    }  # fmt: skip
    assert made["mail"]["overlap"].value == "allow"
    assert made["mail-2"]["start_at"].isoformat() == "2027-01-01T00:00:00+01:00"
    assert [one.why.partition(":")[0] for one in read.left_out] == [
        "year", "week", "it has no trigger, which runs it at once", "'lambda",
    ]  # fmt: skip
    assert "Importing" in read.carried[0].notes[0]
    assert verdicts(read)["weekly"] is True


def test_huey_and_both_schedulers_of_rq(found: Callable[..., Import], tmp_path: Path) -> None:
    of_huey, of_rq = found("huey", zone="UTC", work__py=QUEUES), found("rq", zone="UTC", work__py=QUEUES)
    assert {name: one["schedule"].value for name, one in tasks(of_huey, tmp_path).items()} == {
        "every_six": "0 0 */6 * * *"
    }
    assert [one.why for one in of_huey.left_out] == ["day_of_week: Huey knows no steps here"]
    assert of_huey.carried[0].settings == {"retries": 2, "retry_delay": 60}
    made = tasks(of_rq, tmp_path)
    assert {name: one["schedule"].value for name, one in made.items()} == {
        "add": "0 0 0 13 * *", "add-part-2": "0 0 0 1-12,14-31 * FRI", "sweep": "120s", "sweep-2": "0 0 0 13 * FRI",
        "sweep-3": "60s",
    }  # fmt: skip
    assert (made["add"]["group"], made["add"]["timeout"]) == ("fast", 60)
    assert [one.why for one in of_rq.left_out] == ["'x' has 1 fields; only five are carried"]
    assert set(verdicts(of_rq).values()) == {True, None}


RQ_BY_NAME = """
import os
import rq.cron
from rq.cron import register
from rq.cron import register as again
from work import register as unrelated, sweep

register(sweep, "low", cron="0 4 * * 1-5", job_timeout="1h30m")
again(sweep, queue_name="low", interval=1234567)
rq.cron.register(sweep, "low", interval=30)
unrelated(sweep, interval=5)
for queue in ("a", "b"):
    register(sweep, queue, cron="@daily")
if os.environ.get("PROD"):
    register(sweep, "low", cron="5 5 * * 7")
register(sweep, "low", cron="@daily", job_timeout="long")
register(sweep, "low", interval=int(os.environ["SECONDS"]))
"""


def test_rq_is_read_however_register_was_imported(found: Callable[..., Import], tmp_path: Path) -> None:
    read = found("rq", zone="UTC", cron_config__py=RQ_BY_NAME)
    assert {name: (one["schedule"].value, one.get("group")) for name, one in tasks(read, tmp_path).items()} == {
        "sweep": ("0 0 4 * * MON-FRI", "low"),
        "sweep-2": ("1234567s", "low"),
        "sweep-3": ("30s", "low"),
        "sweep-4": ("0 0 0 * * *", None),
        "sweep-5": ("0 5 5 * * SUN", "low"),
    }
    assert [one.why for one in read.left_out] == [
        "job_timeout: 'long' is no time such as 180 or '3m'",
        "'os.environ[\"SECONDS\"]' is known only when the program runs",
    ]
    assert read.carried[0].settings == {"group": "low", "timeout": 5400.0}
    in_a_block = "It stands within a loop, a condition or a function: here it is one task, always there."
    *before, in_loop, in_condition = [list(one.notes) for one in read.carried]
    assert before == [[], [], []]
    assert in_loop == ["queue_name=queue is known only when the program runs: name the group.", in_a_block]
    assert in_condition == [in_a_block]


def test_timers_of_systemd(found: Callable[..., Import], tmp_path: Path) -> None:
    (tmp_path / "backup.service").write_text(SERVICE)
    read = found("systemd", backup__timer=TIMER)
    made = tasks(read, tmp_path)
    assert [one["schedule"].value for one in made.values()] == ["Mon..Fri *-*-* 02:30", "quarterly", "5400s"]
    first = made["backup"]
    assert first["args"]["command"] == ["/usr/bin/backup", "--quiet", "two words"]
    assert first["args"]["environment"] == {"A": "1 2", "B": "3"}
    assert (first["timeout"], first["jitter"], first["misfire"].value) == (600, 600, "last")
    assert [one.text for one in read.left_out] == ["OnCalendar=never-ever"]
    assert all(one is not False for one in verdicts(read).values())


def test_a_module_calls_the_functions_as_the_program_did(found: Callable[..., Import], tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text("CALLS = []\ndef add(*args):\n    CALLS.append(args)\ndef sweep(*args): ...\n")
    (tmp_path / "moved_jobs.py").write_text(jobs_module(found("rq", zone="UTC", source__py=QUEUES)))
    code = "import moved_jobs as m, work; m.add(); m.add_part_2(); d = m.add_part_2.definition; "
    code += "print(work.CALLS, d.schedule.value, d.policies.defaults.timeout)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "[(1, 2), (1, 2)] 0 0 0 1-12,14-31 * FRI 60\n", done.stderr


def test_the_report_has_the_next_ten_times_of_both(found: Callable[..., Import]) -> None:
    said = report(found("crontab", my__cron="*/15 2 * * * quarter\n@daily tidy\n@reboot x\n"), START)
    assert said.startswith("# 2 of 3 schedules of crontab carried")
    assert "| 10 | Wed 2026-11-25 02:15:00 +0100 | Wed 2026-11-25 02:15:00 +0100 |" not in said
    assert "| 10 | Thu 2026-11-26 02:15:00 +0100 | Thu 2026-11-26 02:15:00 +0100 |" in said
    assert "times differ only where the clock is changed, on 2027-03-28, 2027-10-31" in said
    assert "all times up to 2028-11-23 are equal" in said


def test_the_command_writes_both_files_and_says_what_is_wrong(tmp_path: Path) -> None:
    app, path = application(("import",)), tmp_path / "my.cron"
    path.write_text("0 4 * * * backup\n@reboot start\n~ 4 * * * at-random\n")

    def asked(*words: str) -> Any:
        return CliRunner().invoke(app, ["import", *words])

    out, said = tmp_path / "tasks.yaml", tmp_path / "report.md"
    done = asked(
        "crontab",
        str(path),
        "--timezone",
        "Europe/Berlin",
        "--out",
        str(out),
        "--report",
        str(said),
        "--start",
        str(tmp_path / "starts.py"),
    )
    assert (done.exit_code, "1 of 3 schedules written" in done.output) == (0, True)
    assert "cron: 0 0 4 * * *" in out.read_text()
    assert "Not carried" in said.read_text()
    assert "def start_of_node(" in (tmp_path / "starts.py").read_text()
    answer = json.loads(asked("crontab", str(path), "--json").stdout)
    assert (answer["carried"][0]["equal"], len(answer["leftOut"])) == (True, 1)
    for words, why in (
        (["at", str(path)], "program: must be one of crontab, celery"),
        (["crontab", str(tmp_path / "none")], "cannot be read: No such file"),
        (["crontab", str(path), "--timezone", "Mars"], "--timezone: timezone: unknown zone 'Mars'"),
        (["crontab", str(path), "--module"], "--module: is for apscheduler, celery, huey, rq"),
        (["crontab", str(path), "--out", str(tmp_path / "no" / "x")], "--out: cannot write"),
    ):
        refused = asked(*words)
        assert refused.exit_code == 2
        assert why in refused.output
    (tmp_path / "broken.py").write_text("def (")
    assert "is no Python that can be read here" in asked("celery", str(tmp_path / "broken.py")).output
