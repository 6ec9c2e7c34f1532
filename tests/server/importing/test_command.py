"""The commands on the page `coming-from.md` read what they name, and write what they say."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cronograph.server.cli import application
from cronograph.server.importing.reading import PROGRAMS
from tests.docs.blocks import blocks_of
from tests.server.importing import test_reading as theirs
from tests.support.sources import ROOT

COMMANDS = [
    re.split(r"\s+#", line)[0].replace(" /etc", " etc")
    for block in blocks_of(ROOT / "docs" / "coming-from.md")
    if block.test is not None
    for line in block.text.splitlines()
]
FILES = {
    "my.crontab": theirs.CRONTAB,
    "etc/crontab": "17 * * * * root cd / && run-parts /etc/cron.hourly\n",
    "etc/systemd/system/backup.timer": theirs.TIMER,
    "etc/systemd/system/backup.service": theirs.SERVICE,
    "shop/celery.py": theirs.CELERY,
    "shop/settings.py": "CELERY_TIMEZONE = 'Europe/Berlin'\n",
    "scripts/reports.py": theirs.APSCHEDULER,
    "cron_config.py": theirs.QUEUES,
    "shop/tasks.py": theirs.QUEUES,
}


@pytest.mark.costly
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_finds_schedules(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(command)
    assert program == "cronograph"
    before = set(tmp_path.rglob("*"))

    done = CliRunner().invoke(application(("import",)), words)

    assert done.exit_code == 0, done.output
    assert "schedules of" in done.output or "the report is in report.md" in done.output
    named = {words[place + 1] for place, word in enumerate(words) if word in {"--out", "--report", "--start"}}
    assert {path.name for path in set(tmp_path.rglob("*")) - before} == named


@pytest.mark.parametrize("program", PROGRAMS)
def test_where_no_schedule_is_the_command_says_so_and_writes_nothing(program: str, tmp_path: Path) -> None:
    place = tmp_path / "empty"
    if program == "crontab":
        place.write_text("# nothing here\nMAILTO=ada\n", encoding="utf-8")
    else:
        place.mkdir()
    target = tmp_path / "tasks.yaml"

    done = CliRunner().invoke(application(("import",)), ["import", program, str(place), "--out", str(target)])

    assert done.exit_code == 2
    assert f"no schedule of {program} in {place}; nothing was written" in " ".join(done.output.split())
    assert not target.exists()


def test_the_page_shows_each_program_once_at_least() -> None:
    assert {command.split()[2] for command in COMMANDS} == {
        "apscheduler",
        "celery",
        "crontab",
        "huey",
        "rq",
        "systemd",
    }
