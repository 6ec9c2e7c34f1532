"""Crontabs, timers of systemd and CronJobs of Kubernetes as they are found on machines, odd ones included."""

from pathlib import Path
from typing import Any

import pytest

from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.server.importing.report import report
from cronograph.server.importing.systemd import seconds, unit_of
from tests.server.importing.projects import START, named, read, reasons, tasks, verdicts

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
CRON_TZ=
0 10 * * * home
"""


def test_a_crontab_with_odd_lines(tmp_path: Path) -> None:
    path = tmp_path / "my.cron"
    path.write_text(CRONTAB)
    found = read("crontab", path, zone="Europe/Berlin")
    made = tasks(found, tmp_path)
    assert {name: (one["schedule"].value, one["schedule"].timezone) for name, one in made.items()} == {
        "backup": ("0 15 2 * * *", "Europe/Berlin"),
        "party": ("0 0 0 13 * *", "Europe/Berlin"),
        "party-part-2": ("0 0 0 1-12,14-31 * FRI", "Europe/Berlin"),
        "report": ("0 30 4 1 * *", "Europe/Berlin"),
        "open": ("0 0 9 * * MON-FRI", "America/New_York"),
        "home": ("0 0 10 * * *", "Europe/Berlin"),
    }
    assert made["backup"]["args"] == {
        "command": ["/bin/bash", "-c", '/usr/local/bin/backup.sh --to "$PLACE"'],
        "environment": {"PATH": "/usr/local/bin:/usr/bin", "HOME": "/srv"},
        "directory": "/srv",
    }
    assert made["backup"]["description"] == "every night"
    assert made["report"]["args"]["input"] == "Dear all,\n100% done\n"
    assert list(reasons(found)) == [
        "5/15 * * * * odd-step", "0 0 31 2 * never", "70 * * * * bad", "~ 3 * * * random",
        "@fortnightly unknown", "1 2 3", "0 9 * * * lost",
    ]  # fmt: skip
    assert "minute: '5/15' is a step without a range" in reasons(found)["5/15 * * * * odd-step"]
    assert [one.text for one in found.at_start] == ["@reboot /usr/bin/start"]
    assert "'Mars/Base' is no time zone" in reasons(found)["0 9 * * * lost"]
    assert None not in verdicts(found).values()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mine", "17 * * * * root cd / && run-parts /etc/cron.hourly\n@daily bob tidy\n"),
        ("mine", "# m h dom mon dow user  command\n17 * * * * ada cd / && run-parts x\n@daily bob tidy\n"),
        ("cron.d/php", "17 * * * * ada cd / && run-parts x\n@daily bob tidy\n"),
    ],
)
def test_a_crontab_of_the_system_is_recognized(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    found = read("crontab", path)
    (hourly, daily) = found.carried
    assert (hourly.args["command"].partition(" ")[0], daily.args["command"]) == ("cd", "tidy")
    assert daily.notes == ["It runs as user 'bob' there, and as the user of the server here."]
    assert found.notes[-1] == f"{path} has a column for the user, as /etc/crontab; it was read as with `--system`."
    assert read("crontab", path, is_system=True).notes[-1] != found.notes[-1]


def test_a_command_that_names_root_is_no_user(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("0 3 * * * backup root /srv\n@daily tidy root\n")
    assert [one.args["command"] for one in read("crontab", path).carried] == ["backup root /srv", "tidy root"]


def test_a_line_that_starts_the_program_root_does_not_make_users_of_the_words_of_all_others(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("0 5 * * * root -l -q fit.C\n0 3 * * * /usr/bin/tidy\n0 6 * * * date +\\%Y\n@daily /bin/true\n")
    found = read("crontab", path)
    assert reasons(found) == {}
    commands = [one.args["command"] for one in found.carried]
    assert commands == ["root -l -q fit.C", "/usr/bin/tidy", "date +%Y", "/bin/true"]
    assert [one.notes for one in found.carried] == [[], [], [], []]


def test_the_random_delay_of_cronie_is_jitter(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("0 3 * * * /bin/now\nRANDOM_DELAY=45\n0 4 * * * /bin/later\nRANDOM_DELAY=0\n0 5 * * * /bin/soon\n")
    found = read("crontab", path)
    assert [one.settings for one in found.carried] == [{}, {"jitter": 2700}, {}]
    assert [len(one.notes) for one in found.carried] == [0, 1, 0]


def test_a_folder_of_crontabs_and_files_in_other_encodings(tmp_path: Path) -> None:
    folder = tmp_path / "crontabs"
    folder.mkdir()
    (folder / "latin").write_bytes(b"# donn\xe9es\r\n0 3 * * * /usr/bin/true \xe9\r\n")
    (folder / "mark").write_bytes(b"\xef\xbb\xbf0 4 * * * /usr/bin/false\n")
    (folder / "next").write_bytes(b"0 5 * * * echo a\xc2\x85b\n")
    (folder / "wide").write_bytes("0 7 * * * /bin/wide é\r\n".encode("utf-16"))
    (folder / "half").write_bytes(b"\xff\xfe0")
    (folder / "old.dpkg").write_text("0 6 * * * cron leaves out names with a dot\n")
    (folder / "binary").write_bytes(b"\0\1")
    found = read("crontab", folder)
    assert {one.name: (one.args["command"], one.settings) for one in found.carried} == {
        "true": ("/usr/bin/true é", {"description": "données"}),
        "false": ("/usr/bin/false", {}),
        "echo": ("echo a\x85b", {}),
        "wide": ("/bin/wide é", {}),
    }
    assert found.notes[-1] == f"{folder / 'latin'} is not UTF-8; it was read as Latin-1."
    assert [one.why for one in found.left_out] == ["cannot be read: it is no text"] * 2
    for path, why in ((folder / "binary", "it is no text"), (folder / "none", "No such file or directory")):
        with pytest.raises(ConfigurationError, match=f"{path}: cannot be read: {why}"):
            read("crontab", path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "RANDOM_DELAY=45\n1\t5\tcron.daily\tnice run-parts a\n@monthly 45 cron.monthly\t\trun-parts b\n",
            ["it is a line of anacron, whose first number are days: write an interval"] * 2,
        ),
        ("#!/bin/sh\nset -e\nlogrotate a\n", ["it is a script: write a line of a crontab that starts it"]),
    ],
)
def test_files_that_only_look_like_crontabs_are_left_out(text: str, why: list[str], tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_text(text)
    found = read("crontab", path)
    assert ([one.why for one in found.left_out], found.carried) == (why, [])


def test_bytes_that_python_takes_for_blanks_stay_in_commands(tmp_path: Path) -> None:
    crontab = tmp_path / "latin"
    crontab.write_bytes(b"NAME=x\x85\n0 3 * * * /bin/echo caf\xe9\x85\n0 4 * * *\xa0/bin/nbsp\n")
    found = read("crontab", crontab)
    (made,) = tasks(found, tmp_path).values()
    assert made["args"] == {"command": "/bin/echo caf\xe9\x85", "environment": {"NAME": "x\x85"}}
    assert list(reasons(found)) == ["0 4 * * *\xa0/bin/nbsp"]
    units = tmp_path / "units"
    units.mkdir()
    for place, end in enumerate((b"\x85", b"\x0c", "\u2028".encode())):
        (units / f"u{place}.timer").write_bytes(b"[Timer]\r\nOnCalendar=daily\r\n")
        (units / f"u{place}.service").write_bytes(b"[Service]\rExecStart=/bin/echo a" + end + b"b=c\r")
    commands = {name: one["args"]["command"][1] for name, one in tasks(read("systemd", units), tmp_path).items()}
    assert commands == {"u0": "a\x85b=c", "u1": "a\x0cb=c", "u2": "a\u2028b=c"}


def test_the_report_has_the_next_ten_times_of_both(tmp_path: Path) -> None:
    path = tmp_path / "my.cron"
    path.write_text("*/15 2 * * * quarter\n@daily tidy\n* * * * * often\n@reboot x\n")
    said = report(read("crontab", path, zone="Europe/Berlin"), START)
    assert said.startswith("# 3 of 4 schedules of crontab carried")
    assert "| 10 | Thu 2026-11-26 02:15:00 +0100 | Thu 2026-11-26 02:15:00 +0100 |" in said
    assert "times differ only where the clock is changed, on 2027-03-28, 2027-10-31" in said
    assert "all times up to 2026-11-23 are equal, and around each change of the clock up to two years" in said


# systemd ------------------------------------------------------------------------------------------------------------

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
[Unit]
Description=Backs up
[Service]
Type=oneshot
ExecStart=-/usr/bin/backup --quiet \\
# a comment between the lines
    "two words"
WorkingDirectory=-/srv
Environment="A=1 2" B=3
EnvironmentFile=-/etc/default/backup
TimeoutStartSec=10min
User=backup
"""


def units(folder: Path, **files: str) -> Path:
    """Write units: `backup_timer` is the file `backup.timer`."""
    for name, text in files.items():
        stem, _, kind = name.rpartition("_")
        (folder / f"{stem}.{kind}").write_text(text)
    return folder


def test_a_timer_with_its_service(tmp_path: Path) -> None:
    found = read("systemd", units(tmp_path, backup_timer=TIMER, backup_service=SERVICE) / "backup.timer")
    made = tasks(found, tmp_path)
    assert [one["schedule"].value for one in made.values()] == ["Mon..Fri *-*-* 02:30", "quarterly", "5400s"]
    first = made["backup"]
    assert first["args"] == {
        "command": ["/usr/bin/backup", "--quiet", "two words"],
        "environment": {"A": "1 2", "B": "3"},
        "directory": "/srv",
        "expected_status": list(range(256)),
    }
    assert (first["timeout"], first["jitter"], first["misfire"].value) == (600, 600, "last")
    assert first["description"] == "Backs up"
    assert named(found, "backup").notes == [
        "RandomizedDelaySec is another delay each time there; `jitter` is one that stays the task's.",
        "EnvironmentFile=-/etc/default/backup is not carried.",
        "User=backup is not carried.",
    ]
    assert [one.text for one in found.left_out] == ["OnCalendar=never-ever"]
    assert all(one is not False for one in verdicts(found).values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", 90), ("1.5h", 5400), ("500ms", 0.5), ("2min 30s 5ms", 150.005), ("1month", 2_629_800), ("1M", 2_629_800),
        ("1m", 60), ("2 weeks 1d", 1_296_000), ("1y", 31_557_600), ("1h30min", 5400), ("100us", 0.0001), (".5s", 0.5),
    ],
)  # fmt: skip
def test_time_spans(text: str, expected: float) -> None:
    assert seconds(text) == expected


def test_a_service_with_a_time_span_or_a_quote_that_is_none_is_left_out_alone(tmp_path: Path) -> None:
    true = "[Service]\nExecStart=/bin/true\n"
    units(
        tmp_path,
        a_timer="[Timer]\nOnUnitActiveSec=500ms\nOnUnitInactiveSec=1month\nOnUnitActiveSec=soon\n",
        a_service=true,
        b_timer="[Timer]\nOnCalendar=daily\nRandomizedDelaySec=1month\n",
        b_service="[Service]\nExecStart=/bin/sh -c 'echo it's' \n",
        c_timer="[Timer]\nOnCalendar=daily\nRandomizedDelaySec=ever\n",
        c_service=f"{true}TimeoutStartSec=2min 30s 5ms\n",
        d_timer="[Timer]\nOnCalendar=daily\nUnit=reboot.target\n",
        e_timer="[Timer]\nOnCalendar=daily\n",
        f_timer="[Timer]\nAccuracySec=1s\n",
        f_service=true,
        g_timer="[Timer]\nOnCalendar=daily\n",
        g_service="[Service]\nType=oneshot\n",
    )
    found = read("systemd", tmp_path)
    assert {one.name: one.schedules[0].value for one in found.carried} == {"a": "2629800s", "c": "daily"}
    assert named(found, "c").settings == {"timeout": 150.005, "misfire": "none"}
    assert named(found, "c").notes == [
        "TimeoutStartSec limits only the start of a service of Type=simple; here `timeout` limits the whole run.",
        "RandomizedDelaySec is not carried: 'ever' is no time span such as 90, 1h 30min or 1.5h.",
    ]
    assert reasons(found) == {
        "OnUnitActiveSec=500ms": "an interval is at least one second here, got 0.5 s",
        "OnUnitActiveSec=soon": "'soon' is no time span such as 90, 1h 30min or 1.5h",
        "b.timer": "ExecStart=/bin/sh -c 'echo it's' has a quote that is not closed",
        "d.timer": "it starts reboot.target, which is no service",
        "e.timer": "its service e.service cannot be read: there is no such file next to it",
        "f.timer": "it has no schedule",
        "g.timer": "its service has no ExecStart",
    }


def test_spans_that_no_task_has_cost_only_what_they_say(tmp_path: Path) -> None:
    true = "[Service]\nType=oneshot\nExecStart=/bin/true\n"
    units(
        tmp_path,
        a_timer=f"[Timer]\nOnUnitActiveSec={'9' * 400}\nOnUnitActiveSec=9{'0' * 30}y\n",
        a_service=true,
        b_timer=f"[Timer]\nOnBootSec={'9' * 400}\nOnBootSec=11y\nOnStartupSec=5min\n",
        b_service=true,
        c_timer="[Timer]\nOnCalendar=daily\n",
        c_service=f"{true}TimeoutStartSec=100us\n",
        d_timer="[Timer]\nOnCalendar=daily\n",
        d_service=f"{true}RuntimeMaxSec=99y\nDescription={'d' * 20_000}\n",
    )
    found = read("systemd", tmp_path)
    assert [(one.text, one.delay) for one in found.at_start] == [("OnStartupSec=5min", 300)]
    assert len(found.left_out) == 4
    assert verdicts(found).keys() == tasks(found, tmp_path).keys() == {"c", "d"}
    assert [one.settings for one in found.carried] == [{"misfire": "none"}, {"misfire": "none"}]
    assert [note.partition(" is not carried: ")[0] for note in named(found, "c").notes] == ["timeout=0.0001"]
    assert len(named(found, "d").notes) == 2


def test_an_empty_value_resets_and_an_empty_time_resets_the_times_of_every_kind(tmp_path: Path) -> None:
    true = "[Service]\nType=\nTimeoutStartSec=\nExecStart=/bin/true\n"
    units(
        tmp_path,
        a_timer="[Timer]\nOnBootSec=15min\nOnUnitActiveSec=1d\nRandomizedDelaySec=1h\nPersistent=\nUnit=b.service\n",
        a_service=true,
        b_timer="[Timer]\nOnCalendar=daily\nOnUnitActiveSec=\n",
        b_service=true,
    )
    (tmp_path / "a.timer.d").mkdir()
    drop_in = "[Timer]\nOnCalendar=\nOnCalendar=*-*-* 04:00\nRandomizedDelaySec=\nUnit=\n"
    (tmp_path / "a.timer.d" / "override.conf").write_text(drop_in)
    found = read("systemd", tmp_path)
    (only,) = found.carried
    assert (only.name, only.text, only.settings) == ("a", "OnCalendar=*-*-* 04:00", {"misfire": "none"})
    assert (found.at_start, reasons(found)) == ([], {"b.timer": "it has no schedule"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"""/bin/sh -c 'printf "a\nb"' x\x20y""", ["/bin/sh", "-c", 'printf "a\nb"', "x y"]),
        (r"""a 'it\'s' '\\.' "\*.log" \.""", ["a", "it's", "\\.", "\\*.log", "\\."]),
        (r"""a "" \s \101 \u00e9 \xc3\xa9 end\q""", ["a", "", " ", "A", "é", "é", "end\\q"]),
    ],
)
def test_escapes_are_read_as_systemd_reads_them(text: str, words: list[str], tmp_path: Path) -> None:
    service = f"[Service]\nExecStart={text}\nEnvironment=LIST=a\\\n b 'C=x\\ty'\n"
    found = read("systemd", units(tmp_path, a_timer="[Timer]\nOnCalendar=daily\n", a_service=service))
    assert found.carried[0].args == {"command": words, "environment": {"LIST": "a", "C": "x\ty"}}


def test_an_escape_that_is_no_text_and_what_a_task_does_not_have(tmp_path: Path) -> None:
    units(
        tmp_path,
        a_timer="[Timer]\nOnCalendar=daily\nOnClockChange=yes\n",
        a_service=(
            "[Unit]\nConditionACPower=true\n"
            "[Service]\nExecStart=/bin/true\nSuccessExitStatus=3\nWorkingDirectory=%h/work\n"
        ),
        b_timer="[Timer]\nOnCalendar=daily\n",
        b_service="[Service]\nExecStart=/bin/echo \\xff\n",
        c_timer="[Timer]\nOnCalendar=daily\n",
        c_service="[Service]\nExecStart=/bin/echo \\Uffffffff\n",
    )
    found = read("systemd", tmp_path)
    assert found.carried[0].notes == [
        "WorkingDirectory or Environment has specifiers: systemd replaces them, `shell` does not.",
        "SuccessExitStatus=3 is not carried.",
        "OnClockChange=yes is not carried.",
        "ConditionACPower=true is not carried.",
    ]
    assert reasons(found) == {
        "b.timer": r"ExecStart has \xff, which is no text in UTF-8",
        "c.timer": r"ExecStart has \Uffffffff, which is no text in UTF-8",
    }


def test_a_calendar_event_may_end_with_any_zone(tmp_path: Path) -> None:
    events = ["*-*-* 03:00 CET", "Mon *-*-* 03:00 EST5EDT", "*-*-* 03:00 Asia/Tokyo", "*-*-* 03:00 UTC", "Fri 03:00"]
    timer = "".join(f"OnCalendar={one}\n" for one in events)
    units(tmp_path, a_timer=f"[Timer]\n{timer}OnCalendar=2001-01-01\n", a_service="[Service]\nExecStart=/bin/true\n")
    found = read("systemd", tmp_path, zone="America/New_York")
    zones = {one.schedules[0].value: one.schedules[0].timezone for one in found.carried}
    assert zones == dict.fromkeys(events, "UTC") | {"Fri 03:00": "America/New_York"}
    assert reasons(found) == {"OnCalendar=2001-01-01": "it is over: it has no time any more"}


CRON_JOBS = """
kind: CronJob
metadata: {name: deadline}
spec:
  schedule: 0 3 * * *
  startingDeadlineSeconds: SECONDS
  concurrencyPolicy: Allow
  jobTemplate:
    spec:
      backoffLimit: 99999999999
      activeDeadlineSeconds: 0
      template: {spec: {containers: [{command: [a]}]}}
---
kind: CronJob
metadata: {name: odd}
spec: {schedule: 0 4 * * *, concurrencyPolicy: [Allow]}
---
kind: CronJob
metadata: {name: rare}
spec:
  schedule: "@every 99999999999999999999h"
  jobTemplate: {spec: {template: {spec: {containers: [{command: [a]}]}}}}
"""


@pytest.mark.parametrize("seconds", ["0", "9" * 30])
def test_numbers_that_no_task_has_are_notes_of_a_cron_job(seconds: str, tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(CRON_JOBS.replace("SECONDS", seconds))
    found = read("kubernetes", tmp_path)
    assert named(found, "deadline").settings == {"overlap": "allow", "misfire": "none"}
    lost = {note.partition("=")[0] for note in named(found, "deadline").notes if "=" in note}
    assert lost == {"retries", "misfire_grace", "max_duration"}
    assert list(tasks(found, tmp_path)) == ["deadline"]
    assert list(reasons(found)) == ["0 4 * * *", "@every 99999999999999999999h"]


@pytest.mark.parametrize(
    ("container", "why"),
    [
        ("{command: echo hi}", "command must be a list, got 'echo hi'"),
        ("{command: [a], args: 5}", "args must be a list, got 5"),
        ("{command: [sleep, on]}", "command must be text, got True: write it in quotes"),
        ("{command: [a], env: [{name: A, value: yes}]}", "env A must be text, got True: write it in quotes"),
    ],
)
def test_words_that_kubernetes_refuses_are_left_out_with_the_reason(container: str, why: str, tmp_path: Path) -> None:
    pod = f"jobTemplate: {{spec: {{template: {{spec: {{containers: [{container}]}}}}}}}}"
    (tmp_path / "a.yaml").write_text(f'kind: CronJob\nspec: {{schedule: "0 3 * * *", {pod}}}\n')
    (only,) = read("kubernetes", tmp_path).left_out
    assert only.why.startswith(why)


def test_links_templates_and_drop_ins(tmp_path: Path) -> None:
    units(
        tmp_path,
        clean_timer="[Timer]\nOnCalendar=daily\n",
        clean_service="[Service]\nExecStart=/bin/clean\n",
    )
    (tmp_path / "dump@.timer").write_text("[Timer]\nOnCalendar=%i\n")
    (tmp_path / "dump@.service").write_text("[Service]\nExecStart=/bin/dump --to /srv/%i-100%%\n")
    (tmp_path / "off.timer").symlink_to("/dev/null")
    wants = tmp_path / "timers.target.wants"
    wants.mkdir()
    (wants / "clean.timer").symlink_to("/usr/lib/systemd/system/clean.timer")
    (wants / "dump@weekly.timer").symlink_to("../dump@.timer")
    (wants / "dump@daily.timer").symlink_to("../dump@.timer")
    (wants / "gone.timer").symlink_to("/usr/lib/systemd/system/gone.timer")
    for folder, text in (
        ("clean.timer.d", "[Timer]\nOnCalendar=\nOnCalendar=*-*-* 04:00\n"),
        ("clean.service.d", "[Service]\nEnvironment=DEEP=1\n"),
        ("dump@.service.d", "[Service]\nWorkingDirectory=/srv\n"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "override.conf").write_text(text)
    found = read("systemd", tmp_path)
    assert {one.name: (one.schedules[0].value, one.args) for one in found.carried} == {
        "clean": ("*-*-* 04:00", {"command": ["/bin/clean"], "environment": {"DEEP": "1"}}),
        "dump-daily": ("daily", {"command": ["/bin/dump", "--to", "/srv/daily-100%"], "directory": "/srv"}),
        "dump-weekly": ("weekly", {"command": ["/bin/dump", "--to", "/srv/weekly-100%"], "directory": "/srv"}),
    }
    assert reasons(found) == {
        "off.timer": "cannot be read: it is masked",
        "gone.timer": "cannot be read: No such file or directory",
    }
    assert read("systemd", tmp_path / "dump@.timer").left_out[0].why.startswith("it is a template: link an instance")


def test_prefixes_and_several_commands(tmp_path: Path) -> None:
    service = "[Service]\nExecStart=-@/bin/sh sh -c 'exit 1'\nExecStart=+/bin/echo $$HOME ; /bin/echo \"${HOME}\"\n"
    found = read("systemd", units(tmp_path, a_timer="[Timer]\nOnCalendar=daily\n", a_service=service))
    (one,) = found.carried
    assert one.args == {"command": "(/bin/sh -c 'exit 1' || true) && /bin/echo '$HOME' && /bin/echo '${HOME}'"}
    assert one.notes == [
        "'+' before ExecStart is not carried: it runs as the user of the server.",
        "ExecStart has variables or specifiers: systemd replaces them, `shell` does not.",
    ]


def test_a_comment_within_a_value_and_an_empty_value() -> None:
    text = "[Service]\nX=1 \\\n; no\n  2\nY=1\nY=\nY=2\n# Z=1\n"
    assert unit_of(text) == {"X": ["1    2"], "Y": ["2"]}


# Kubernetes ---------------------------------------------------------------------------------------------------------

CRON_JOB = """
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: shop}
spec:
  schedule: "5/20 3 13 * FRI"
  timeZone: Europe/Berlin
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 300
  suspend: true
  jobTemplate:
    spec:
      backoffLimit: 2
      activeDeadlineSeconds: 600
      parallelism: 3
      template:
        spec:
          restartPolicy: OnFailure
          volumes: []
          containers:
          - name: report
            image: shop:1.2
            command: ["/bin/report", "$(PLACE)"]
            args: ["--deep"]
            workingDir: /srv
            env:
            - {name: PLACE, value: Berlin}
            - {name: KEY, valueFrom: {secretKeyRef: {name: a, key: b}}}
          - name: sidecar
---
apiVersion: v1
kind: List
items:
- kind: CronJob
  metadata: {name: often}
  spec: {schedule: "@every 1h30m", jobTemplate: &job {spec: {template: {spec: {containers: [{command: [a]}]}}}}}
- kind: CronJob
  metadata: {name: image}
  spec: {schedule: "0 * * * *", jobTemplate: {spec: {template: {spec: {containers: [{image: a}]}}}}}
- kind: CronJob
  metadata: {name: sunday}
  spec: {schedule: "0 0 * * 7", jobTemplate: *job}
- kind: CronJob
  metadata: {name: mars}
  spec: {schedule: "0 0 * * *", timeZone: Mars/Base, jobTemplate: *job}
- kind: CronJob
  metadata: {name: replaced}
  spec: {schedule: "TZ=Asia/Tokyo @daily", concurrencyPolicy: Replace, jobTemplate: *job}
- kind: CronJob
  spec: {schedule: [1]}
- 3
"""


def test_cron_jobs_of_kubernetes(tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(CRON_JOB)
    (tmp_path / "chart.yml").write_text("spec: {{ .Values.schedule }}\n")
    (tmp_path / "empty.yaml").write_text("")
    found = read("kubernetes", tmp_path, zone="UTC")
    made: dict[str, Any] = {
        name: (one["schedule"].value, one["schedule"].timezone, one["overlap"].value, one["retries"])
        for name, one in tasks(found, tmp_path).items()
    }
    assert made == {
        "nightly": ("0 5-45/20 3 13 * *", "Europe/Berlin", "skip", 2),
        "nightly-part-2": ("0 5-45/20 3 1-12,14-31 * FRI", "Europe/Berlin", "skip", 2),
        "often": ("5400s", "UTC", "allow", 6),
        "replaced": ("0 0 0 * * *", "Asia/Tokyo", "replace", 6),
    }
    nightly = named(found, "nightly")
    assert nightly.args == {
        "command": ["/bin/report", "$(PLACE)", "--deep"],
        "environment": {"PLACE": "Berlin"},
        "directory": "/srv",
    }
    assert nightly.settings == {
        "overlap": "skip", "retries": 2, "misfire": "none", "misfire_grace": 300, "max_duration": 600, "enabled": False,
    }  # fmt: skip
    assert nightly.notes == [
        "It is in the namespace 'shop' there.",
        "Only the first of its 2 containers is carried.",
        "The command runs on a node. Of its container is not carried: image.",
        "It has `$(…)`: Kubernetes puts variables in their place, `shell` does not.",
        "The variable 'KEY' comes from elsewhere there: set it here.",
        "Of its job is not carried: parallelism.",
        "Of its pod is not carried: volumes.",
    ]
    assert verdicts(found) == {"nightly": True, "often": None, "replaced": True}
    why = {one.place.rpartition(" ")[2]: one.why for one in found.left_out}
    assert why.pop(str(tmp_path / "chart.yml")).startswith("line 1: is no YAML that can be read: ")
    assert why == {
        "image": "its container has no `command`: only its image knows what it runs",
        "sunday": "weekday: 7 is out of range; it must be 0 to 6",
        "mars": "timezone: unknown zone 'Mars/Base'; it must be an IANA name such as Europe/Berlin, or UTC",
        "name": "its container has no `command`: only its image knows what it runs",
    }


def test_a_calendar_event_with_fractions_is_carried_without_a_comparison(tmp_path: Path) -> None:
    (tmp_path / "tick.timer").write_text("[Timer]\nOnCalendar=*-*-* *:*:00/0.5\n")
    (tmp_path / "tick.service").write_text("[Service]\nExecStart=/bin/tick\n")
    (carried,) = read("systemd", tmp_path).carried
    assert carried.schedules[0].value == "*-*-* *:*:00/0.5"
    assert (carried.windows, carried.uncompared is None) == (None, False)
