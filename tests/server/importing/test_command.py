"""The commands on the page `coming-from.md` read what they name, and write what they say."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cronograph.server.cli import application
from cronograph.server.importing.asking import OF_FILES, PROGRAMS
from tests.docs.blocks import blocks_of
from tests.server.importing import test_files as theirs
from tests.support.sources import ROOT

COMMANDS = [
    re.split(r"\s+#", line)[0].replace(" /etc", " etc")
    for block in blocks_of(ROOT / "docs" / "coming-from.md")
    if block.test is not None
    for line in block.text.splitlines()
]
BEAT = """
from celery import Celery
from celery.schedules import crontab
app = Celery("shop")
app.conf.beat_schedule = {"nightly": {"task": "shop.nightly", "schedule": crontab(hour=3, minute=0)}}
"""
APSCHEDULER = """
from apscheduler.schedulers.background import BackgroundScheduler
scheduler = BackgroundScheduler()
def one(): ...
scheduler.add_job(one, "cron", hour=3)
"""
RQ = "from rq import cron\ndef one(): ...\ncron.register(one, 'low', cron='@daily')\n"
HUEY = """
from huey import MemoryHuey, crontab
huey = MemoryHuey()
@huey.periodic_task(crontab(minute="0"))
def hourly(): ...
"""
FILES = {
    "my.crontab": theirs.CRONTAB,
    "etc/crontab": "17 * * * * root cd / && run-parts /etc/cron.hourly\n",
    "etc/systemd/system/backup.timer": theirs.TIMER,
    "etc/systemd/system/backup.service": theirs.SERVICE,
    "manifests/jobs.yaml": theirs.CRON_JOB,
    "shop/__init__.py": "",
    "shop/celery.py": BEAT,
    "shop/tasks.py": HUEY,
    "scripts/reports.py": APSCHEDULER,
    "cron_config.py": RQ,
    ".venv/bin/python": f'#!/bin/sh\nexec {sys.executable} "$@"\n',
}


@pytest.mark.costly
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_finds_schedules(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / ".venv/bin/python").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(command)
    assert program == "cronograph"
    before = set(tmp_path.rglob("*"))

    done = CliRunner().invoke(application(("import",)), words)

    assert done.exit_code == 0, done.output
    assert "schedules of" in done.output or "the report is in report.md" in done.output
    named = {words[place + 1] for place, word in enumerate(words) if word in {"--out", "--report", "--start"}}
    assert {path.name for path in set(tmp_path.rglob("*")) - before if "__pycache__" not in path.parts} == named


@pytest.mark.costly
@pytest.mark.parametrize("program", PROGRAMS)
def test_where_no_schedule_is_the_command_says_so_and_writes_nothing(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    stored = "app.conf.beat_scheduler = 'redbeat.RedBeatScheduler'"
    Path("nothing.py").write_text(f"from celery import Celery\napp = Celery()\n{stored}\n", encoding="utf-8")
    words = ["empty"] if program in OF_FILES else ["-A", "nothing"]

    done = CliRunner().invoke(application(("import",)), ["import", program, *words, "--out", "tasks.yaml"])

    assert done.exit_code == 2
    said = f"no schedule of {program} in {words[-1]}; nothing was written"
    said += ". beat_scheduler is redbeat.RedBeatScheduler: schedules" if program == "celery" else ""
    assert said in " ".join(done.output.split())
    assert not Path("tasks.yaml").exists()


def test_the_command_writes_all_files_and_says_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = application(("import",))
    Path("my.cron").write_text("0 4 * * * backup\n@reboot start\n~ 4 * * * at-random\n")

    def asked(words: str) -> Any:
        return CliRunner().invoke(app, ["import", *words.split()])

    done = asked("crontab my.cron --timezone Europe/Berlin --out tasks.yaml --report report.md --start starts.py")
    assert (done.exit_code, "1 of 3 schedules written" in done.output) == (0, True)
    assert "cron: 0 0 4 * * *" in Path("tasks.yaml").read_text()
    assert "Not carried" in Path("report.md").read_text()
    assert "def start_of_node(" in Path("starts.py").read_text()
    answer = json.loads(asked("crontab my.cron --json").stdout)
    assert (answer["carried"][0]["equal"], len(answer["leftOut"])) == (True, 1)
    for words, why in (
        ("at my.cron", "program: must be one of crontab, systemd, kubernetes, celery"),
        ("crontab none", "cannot be read: No such file"),
        ("crontab my.cron --timezone Mars", "--timezone: timezone: unknown zone 'Mars'"),
        ("crontab my.cron --module", "--module: is for celery, apscheduler, rq, huey"),
        ("crontab my.cron --out no/x", "--out: cannot write"),
        ("crontab", "paths: must be the files of crontab"),
        ("crontab my.cron -A shop", "--app is for others"),
        ("celery", "--app: name the module that has the schedules of celery, e.g. -A shop.schedules"),
        ("apscheduler s.py", "--app: name the module that has the schedules of apscheduler, e.g. -A s.py"),
        ("celery -A shop --python no/python", "--python: cannot run no/python: No such file or directory"),
    ):
        refused = asked(words)
        assert refused.exit_code == 2
        assert why in " ".join(refused.output.split())


def test_the_page_shows_each_program_once_at_least() -> None:
    assert {command.split()[2] for command in COMMANDS} == {
        "apscheduler",
        "celery",
        "crontab",
        "huey",
        "kubernetes",
        "rq",
        "systemd",
    }
