"""Crontabs, timers and manifests of which a part is odd: it alone is left out, or noted."""

import json
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


def test_a_first_start_is_carried_if_the_repetition_is_not(tmp_path: Path) -> None:
    times = "OnBootSec=15min\nOnUnitActiveSec=1parsec\nOnUnitActiveSec=1.5.3h\n"
    units(tmp_path, a_timer=f"[Timer]\n{times}", a_service="[Service]\nExecStart=/bin/true\n")
    found = read("systemd", tmp_path)
    assert found.carried == []
    assert [(one.text, one.delay) for one in found.at_start] == [("OnBootSec=15min", 900)]
    assert [one.text for one in found.left_out] == ["OnUnitActiveSec=1parsec", "OnUnitActiveSec=1.5.3h"]


def test_lines_of_sections_that_systemd_does_not_read_are_ignored(tmp_path: Path) -> None:
    timer = "OnCalendar=yearly\n[Unit]\nOnCalendar=hourly\n[X-Ours]\nOnCalendar=weekly\n[Timer]\nOnCalendar=daily\n"
    units(tmp_path, a_timer=timer, a_service="[Unit]\nExecStart=/bin/no\n[Service]\nExecStart=/bin/yes\n")
    (only,) = read("systemd", tmp_path).carried
    assert (only.text, only.args["command"]) == ("OnCalendar=daily", ["/bin/yes"])


@pytest.mark.parametrize(("fixed", "count"), [("", 1), ("FixedRandomDelay=no\n", 1), ("FixedRandomDelay=True\n", 0)])
def test_a_fixed_random_delay_is_what_jitter_is(fixed: str, count: int, tmp_path: Path) -> None:
    timer = f"[Timer]\nOnCalendar=daily\nRandomizedDelaySec=1h\n{fixed}"
    (one,) = read("systemd", units(tmp_path, a_timer=timer, a_service="[Service]\nExecStart=/bin/a\n")).carried
    assert (one.settings["jitter"], len(one.notes)) == (3600, count)


def test_drop_ins_are_those_of_the_kind_of_the_prefix_and_of_the_unit(tmp_path: Path) -> None:
    units(tmp_path, **{"a-b_timer": "[Timer]\nOnCalendar=daily\n", "a-b_service": "[Service]\nExecStart=/bin/old\n"})
    drop_ins = {
        "timer.d/10.conf": "[Timer]\nRandomizedDelaySec=1\n",
        "a-.timer.d/20.conf": "[Timer]\nRandomizedDelaySec=2",
        "a-b.timer.d/05.conf": "[Timer]\nRandomizedDelaySec=5",
        "a-.service.d/new.conf": "[Service]\nExecStart=\nExecStart=/bin/of-prefix\\",
        "a-b.service.d/new.conf": "[Service]\nExecStart=\nExecStart=/bin/of-unit \\",
        "service.d/last.conf": "RuntimeMaxSec=1\n[Service]\nRuntimeMaxSec=90\n",
    }
    for place, text in drop_ins.items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(text)
    (tmp_path / "a-b.timer.d" / "99.conf").symlink_to("/dev/null")
    (only,) = read("systemd", tmp_path).carried
    assert only.args["command"] == ["/bin/of-unit"]
    assert (only.settings["jitter"], only.settings["timeout"]) == (2, 90)


def test_specifiers_of_an_instance_are_as_its_name_is_escaped(tmp_path: Path) -> None:
    units(tmp_path, **{"a-b@_service": "[Service]\nExecStart=/bin/back %i %I %p %j %%\n"})
    (tmp_path / "a-b@x\\x2dy-z.timer").write_text("[Timer]\nOnCalendar=daily\n")
    (only,) = read("systemd", tmp_path).carried
    assert only.args["command"] == ["/bin/back", r"x\x2dy-z", "x-y/z", "a-b", "b", "%"]


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
    assert broken.place == f"{tmp_path}/a.yaml"
    assert broken.why == (
        "line 8: is no YAML that can be read: a key must be text; it is a template: import what `helm template` makes "
        "of it"
    )


def test_manifests_in_json_are_read_also_with_tabs(tmp_path: Path) -> None:
    pod = {"template": {"spec": {"containers": [{"command": ["a"]}]}}}
    spec = {"schedule": "0 4 * * *", "jobTemplate": {"spec": pod}}
    job = {"kind": "CronJob", "metadata": {"name": "a"}, "spec": spec}
    (tmp_path / "a.json").write_text(json.dumps(job, indent="\t"))
    (tmp_path / "b.json").write_text('{\t"kind": 1e, "a": "\\u0001"}')
    (tmp_path / "c.yaml").write_text("kind: CronJob\nmetadata: \x01")
    found = read("kubernetes", tmp_path)
    assert [one.name for one in found.carried] == ["a"]
    assert [one.why.partition(":")[0] for one in found.left_out] == ["line 1", "line 2"]
