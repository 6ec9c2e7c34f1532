"""Odd lines of crontabs, by an oracle of its own: equal for two years, or left out with the reason."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cronograph.server.importing.crontab import read_crontab
from cronograph.server.importing.fields import times_of
from cronograph.server.importing.model import Carried, Import, UnsaidError
from cronograph.server.importing.probe import clock_changes
from cronograph.server.importing.report import report, times_here
from tests.server.importing import projects, vixie
from tests.server.importing.originals import END as KEPT_UNTIL
from tests.server.importing.originals import KEPT, digest
from tests.server.importing.originals import START as KEPT_SINCE

START = datetime(2027, 1, 1, 0, 0, 30, tzinfo=UTC)
END = START + timedelta(days=731)  # with a 29th of February
ODD = (
    "0 0 13 * 5",  # both day fields: one is enough
    "0 0 30 2 1",  # the 30th of February or a Monday: its Mondays
    "15 3 1-7 * sun",  # not the first Sunday, but the first week and all Sundays
    "0 0 */2 * 1",  # a field that begins with a star restricts nothing: both have to match
    "0 0 * * 1,*",  # Mondays and every day; only the first character counts
    "0 0 *,10 * 1",
    "0 0 10,* * 1",
    "0 0 1-31 * 5",  # every day, without a star
    "0 12 13 * */2",
    "0 9 * * 7",
    "0 9 * * 0,7",
    "0 9 * * 5-7",
    "0 9 * * 0-7/2",
    "0 9 * * 7,sat",
    "0 9 * * Mon-FRI/2",
    "7 */6 * jan-mar,OCT,12 *",
    "*/7 * * * *",  # 56, then 0
    "*/40 4 * * *",
    "*/90 4 * * *",
    "1-59/2 5 * * *",
    "0,5-20/5,59 1 * * *",
    "0 */7 * * *",
    "0 22-23,0-2/2 * * *",
    "00 07 01 01 *",  # numbers with a zero in front
    "5,5,5 1 * * *",
    "0 0 29 2 *",
    "0 0 29,30,31 * *",
    "0 0 31 */2 *",
    "30 2 * * *",  # in Berlin a time that does not exist, and one that exists twice
    "15,45 2 28 3 *",
    "*/30 2 * * *",
    "30 * * * 0",
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
)
REFUSED = {
    "0 0 30 2 *": "never fires; February has no day 30",
    "0 0 31 4,6,9,11 *": "never fires",
    "60 * * * *": "minute: 60 is out of range",
    "0 24 * * *": "hour: 24 is out of range",
    "0 0 0 * *": "day: 0 is out of range",
    "0 0 1 13 *": "month: 13 is out of range",
    "0 0 * * 8": "weekday: 8 is out of range",
    "*/0 * * * *": "a step of 0",
    "5/15 * * * *": "a step without a range",
    "22-3 * * * *": "runs backwards",
    "0 0 * * fri-mon": "runs backwards",
    "0 0 * * monday": "'monday' is not understood",
    "jan 0 * * *": "'jan' is not understood",
    "1,,2 0 * * *": "'' is not understood",
    "? 0 * * *": "'?' is not understood",
    "0 0 L * *": "'L' is not understood",
    "0 0 * * 5#2": "'5#2' is not understood",
    "@Daily": "nor a nickname that cron knows, which wants small letters: '@daily'",
    "@Reboot": "which wants small letters: '@reboot'",
    "@fortnightly": "nor a nickname that cron knows",
    "~ 3 * * *": "at random",
}
"""What cron refuses, too, or what it never starts; but `~`, which only some crons know."""
WRITTEN_ODDLY = r"""
  # indented, and a tab between the fields
	5	4	*	*	*	/usr/bin/tab
A = spaced
"B C"='quoted'
* 5 * * * echo "100\%"%first%second
0 6 * * * true # no comment
-0 7 * * * /bin/quiet
CRON_TZ=Asia/Kolkata
30 5 * * * /bin/half-hour-zone
0 8 * *
"""


def read(text: str, folder: Path, zone: str = "UTC") -> Import:
    path = folder / "my.crontab"
    path.write_text(text)
    return projects.read("crontab", path, zone=zone, start=START)


def only(found: Import) -> Carried:
    assert found.left_out == []
    (one,) = found.carried
    return one


def theirs(line: str, zone: str, since: datetime = START, until: datetime = END) -> list[datetime]:
    """Return the times that the importer takes for cron's own."""
    fields, polled = read_crontab(line)
    found = times_of(fields, ZoneInfo(zone), int(since.timestamp()), int(until.timestamp()), polled=polled)
    return [datetime.fromtimestamp(at, UTC) for at in found]


@pytest.mark.costly
@pytest.mark.parametrize("line", ODD)
def test_a_line_fires_for_two_years_when_cron_starts_it(line: str, tmp_path: Path) -> None:
    one = only(read(f"{line} command\n", tmp_path))
    expected = vixie.starts(line, ZoneInfo("UTC"), START, END)
    assert len(expected) >= 1
    assert theirs(line, "UTC") == expected
    assert list(times_here(one, START, END)) == expected


@pytest.mark.costly
@pytest.mark.parametrize("row", json.loads(KEPT.read_text()), ids=lambda row: f"{row['given']} {row['zone']}")
def test_a_line_fires_for_two_years_as_cronie_said(row: dict[str, Any], tmp_path: Path) -> None:
    if not row["count"]:
        with pytest.raises(UnsaidError):
            read_crontab(row["given"])
        return
    found = theirs(row["given"], row["zone"], KEPT_SINCE, KEPT_UNTIL)
    assert (len(found), digest(found)) == (row["count"], row["digest"])
    if row["zone"] == "UTC":
        one = only(read(f"{row['given']} command\n", tmp_path))
        assert list(times_here(one, KEPT_SINCE, KEPT_UNTIL)) == found


def changes(zone: str) -> list[date]:
    found = clock_changes(ZoneInfo(zone), int(START.timestamp()), int(END.timestamp()))
    return [datetime.fromtimestamp(at, ZoneInfo(zone)).date() for at in found]


@pytest.mark.costly
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize("line", ["30 2 * * *", "15,45 2 28 3 *", "*/30 2 * * *", "30 * * * 0", "@daily", "0 0 13 * 5"])
def test_where_the_clock_is_changed_the_report_knows_what_cron_does_and_names_the_days_that_differ(
    line: str, zone: str, tmp_path: Path
) -> None:
    found = read(f"{line} command\n", tmp_path, zone)
    expected = vixie.starts(line, ZoneInfo(zone), START, END)
    assert theirs(line, zone) == expected
    here = list(times_here(only(found), START, END))
    different = {at.astimezone(ZoneInfo(zone)).date() for at in {*expected} ^ {*here}}
    assert different <= {day + timedelta(days=offset) for day in changes(zone) for offset in (-1, 0, 1)}
    said = report(found, START)
    assert ("differ only where the clock is changed" in said) == bool(different)
    assert ("are equal" in said) == (not different)
    assert all(str(day) in said for day in sorted(different)[:4])


@pytest.mark.parametrize("field", ["*/{}", "{}", "1-{}"])
def test_a_number_that_python_does_not_read_is_left_out_alone(field: str, tmp_path: Path) -> None:
    found = read(f"{field.format('9' * 5000)} * * * * command\n0 3 * * * other\n", tmp_path)
    assert [one.name for one in found.carried] == ["other"]
    assert "is not understood" in found.left_out[0].why
    assert len(found.left_out[0].why) < 100


@pytest.mark.parametrize("line", REFUSED)
def test_a_line_that_cron_never_starts_is_left_out_with_the_reason(line: str, tmp_path: Path) -> None:
    found = read(f"{line} command\n", tmp_path)
    assert found.carried == []
    assert REFUSED[line] in found.left_out[0].why
    assert f"my.crontab:1: `{line} command`: " in report(found, START)
    try:
        assert vixie.starts(line, ZoneInfo("UTC"), START, END) == []
    except vixie.Refused:
        return


def test_lines_that_are_written_oddly(tmp_path: Path) -> None:
    found = read(WRITTEN_ODDLY, tmp_path)
    tab, percent, no_comment, quiet, zoned = found.carried
    assert [str(one.schedules[0].value) for one in found.carried] == [
        "0 5 4 * * *", "0 * 5 * * *", "0 0 6 * * *", "0 0 7 * * *", "0 30 5 * * *",
    ]  # fmt: skip
    assert (tab.args["command"], tab.place.rpartition(":")[2]) == ("/usr/bin/tab", "3")
    assert (percent.args["command"], percent.args["input"]) == ('echo "100%"', "first\nsecond\n")
    assert percent.args["environment"] == {"A": "spaced"}
    assert percent.notes == ["The variable 'B C' is not carried: the job `shell` takes letters, digits and _."]
    assert no_comment.args["command"] == "true # no comment"
    assert quiet.args["command"] == "/bin/quiet"
    assert next(times_here(zoned, START, END)) == datetime(2027, 1, 2, tzinfo=UTC)
    assert [one.text for one in found.left_out] == ["0 8 * *"]
