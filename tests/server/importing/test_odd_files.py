"""Crontabs, timers and manifests of which a part is odd: it alone is left out, or noted."""

from pathlib import Path

import pytest

from tests.server.importing.projects import read
from tests.server.importing.test_files import units


@pytest.mark.parametrize(
    ("line", "command", "given"),
    [
        (r"a \% b", "a % b", None),
        (r"a \\%in", r"a \\", "in\n"),
        (r"a \\\% b", r"a \\% b", None),
        (r"a \x\\ b%one%two\%\\%", r"a \x\\ b", "one\ntwo%\\%\n"),
        ("a%", "a", None),
        ("a%%", "a", "\n"),
        ("a\\", "a\\", None),
    ],
)
def test_backslashes_before_a_percent_are_those_of_cron(
    line: str, command: str, given: str | None, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text(f"1 2 * * * {line}\n")
    (only,) = read("crontab", tmp_path / "mine").carried
    assert (only.args["command"], only.args.get("input")) == (command, given)


def test_a_zone_that_only_some_crons_know_is_noted(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("1 2 * * * here\nCRON_TZ=Asia/Tokyo\n1 2 * * * there\n")
    here, there = read("crontab", tmp_path / "mine").carried
    assert here.notes == []
    assert "the cron of Debian and Ubuntu ignores it" in there.notes[0]


def test_the_first_start_of_a_timer_that_repeats_is_noted(tmp_path: Path) -> None:
    times = "OnBootSec=15min\nOnActiveSec=1h\nOnUnitActiveSec=1d\nOnCalendar=daily\n"
    units(tmp_path, a_timer=f"[Timer]\n{times}", a_service="[Service]\nExecStart=/bin/true\n")
    found = read("systemd", tmp_path)
    assert [(one.text, len(one.notes)) for one in found.carried] == [("OnCalendar=daily", 0), ("OnUnitActiveSec=1d", 2)]
    assert found.carried[1].notes == [
        "OnBootSec=15min is not carried: an interval goes on across restarts.",
        "OnActiveSec=1h is not carried: an interval goes on across restarts.",
    ]


PARTS = """
kind: CronJob
metadata: {name: odd}
spec: {schedule: 0 3 * * *, suspend: "true"}
---
kind: CronJob
metadata: {name: broken}
spec: {schedule: {{ .Values.schedule }}}
--- # with numbers that are none in a file of tasks
kind: CronJob
metadata: {name: good, annotations: {opened: 12:30:15, mode: 0644, limit: .inf, key: !!binary aGk=}}
spec:
  schedule: 0 4 * * *
  jobTemplate:
    spec:
      backoffLimit: 010
      template:
        spec:
          volumes: [{name: a, secret: {defaultMode: 0400}}]
          containers: [{command: [a], env: [{name: AT, value: 12:30:15}]}]
"""


def test_one_part_or_scalar_of_a_file_for_kubernetes_leaves_out_itself_alone(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(PARTS)
    found = read("kubernetes", tmp_path)
    (good,) = found.carried
    assert (good.settings["retries"], good.args["environment"]) == (8, {"AT": "12:30:15"})
    odd, broken = found.left_out
    assert odd.why == "suspend must be true or false, got 'true'"
    assert (broken.place, broken.why[:28]) == (f"{tmp_path}/a.yaml, part 2 by ---", "is no YAML that can be read:")
