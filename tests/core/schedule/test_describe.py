"""Descriptions: English that says what fires, from the parsed sets."""

from datetime import UTC, datetime

import pytest

from cronograph.jobs.core.schedule import Syntax, parse

NOW = datetime(2026, 5, 14, 10, 20, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("* * * * * *", "Every second"),
        ("*/15 * * * * *", "Every 15 seconds"),
        ("5/15 * * * * *", "Every 15 seconds from second 5"),
        ("*/7 * * * * *", "Every 7 seconds from second 0 of every minute"),
        ("0 * * * * *", "Every minute"),
        ("30 * * * * *", "At second 30 of every minute"),
        ("0,30 * * * * *", "At seconds 0 and 30 of every minute"),
        ("0 */5 * * * *", "Every 5 minutes"),
        ("0 3/15 * * * *", "Every 15 minutes from minute 3"),
        ("0 */7 * * * *", "Every 7 minutes from minute 0 of every hour"),
        ("0 0,20,25,30 * * * *", "At minutes 0, 20, 25 and 30 of every hour"),
        ("0 0 * * * *", "Every hour"),
        ("0 30 * * * *", "Every hour at minute 30"),
        ("0 0 */2 * * *", "Every 2 hours"),
        ("0 30 1/2 * * *", "Every 2 hours from 01:30"),
        ("0 0 9-17 * * *", "Every hour from 09:00 to 17:00"),
        ("0 */5 9-17 * * MON-FRI", "Every 5 minutes from 09:00 to 17:59 from Monday to Friday"),
        ("* 0 0 * * *", "Every second of minute 0 of every hour from 00:00 to 00:59"),
        ("0 0 1,3,5,8-11,13,14 * * *", "At minute 0 of the hours 1, 3, 5, 8 to 11, 13 and 14 every day"),
        ("0 0 9 * * *", "At 09:00 every day"),
        ("@daily", "At 00:00 every day"),
        ("15 30 9,18 * * *", "At 09:30:15 and 18:30:15 every day"),
        ("0 0 9 * * WED-FRI", "At 09:00 from Wednesday to Friday"),
        ("0 0 9 * * SAT,SUN", "At 09:00 on Saturday and Sunday"),
        ("0 0 0 13 * FRI", "At 00:00 on Friday the 13th"),
        ("0 0 0 13 5 FRI", "At 00:00 on Friday the 13th of May"),
        ("0 0 0 1-7 * MON", "At 00:00 on the 1st to 7th of every month if it is a Monday"),
        ("0 0 0 1,15 * MON,WED", "At 00:00 on the 1st and 15th of every month if it is a Monday or a Wednesday"),
        ("0 0 0 1 1 *", "At 00:00 on the 1st of January"),
        ("0 0 0 1 JAN,JUL *", "At 00:00 on the 1st of January and July"),
        ("0 0 0 * JAN-MAR *", "At 00:00 every day from January to March"),
        ("0 */5 * * 12 *", "Every 5 minutes in December"),
        ("0 0 0 L * *", "At 00:00 on the last day of every month"),
        ("0 0 0 L-2 * *", "At 00:00 on the 3rd last day of every month"),
        ("0 0 0 L,L-1 * *", "At 00:00 on the last 2 days of every month"),
        ("0 0 0 15W * *", "At 00:00 on the workday nearest the 15th of every month"),
        ("0 0 0 LW * *", "At 00:00 on the last workday of every month"),
        ("0 0 0 L * FRI", "At 00:00 on the last day of every month if it is a Friday"),
        ("0 0 0 * * FRI#L", "At 00:00 on the last Friday of every month"),
        ("0 0 0 * * MON#2", "At 00:00 on the 2nd Monday of every month"),
        ("0 0 0 * * MON-WED#1", "At 00:00 on the 1st Monday, Tuesday and Wednesday of every month"),
        ("0 0 0 * * TUE,MON#1", "At 00:00 on every Tuesday and the 1st Monday of every month"),
        ("0 0 0 1-7 * TUE,MON#1", "At 00:00 on the 1st to 7th of every month if it is a Tuesday or the 1st Monday"),
        ("L,5 * * * * *", "At second 5 of every minute"),
    ],
)
def test_cron_is_described(text: str, description: str) -> None:
    assert parse(Syntax.CRON, text).describe() == description
    assert parse(Syntax.CRON, text, "Europe/Berlin").describe() == f"{description} (Europe/Berlin)"


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("daily", "At 00:00 every day"),
        ("quarterly", "At 00:00 on the 1st of January, April, July and October"),
        ("Mon..Fri 09:00 Europe/Berlin", "At 09:00 from Monday to Friday (Europe/Berlin)"),
        ("*:0 +02:00", "Every hour (+02:00)"),
        ("daily Z", "At 00:00 every day"),
        ("*:*:7.5", "At second 7.5 of every minute"),
        ("*:*:0/0.5", "Every 0.5 seconds"),
        ("*:*:0.25/0.5", "Every 0.5 seconds from second 0.25"),
        ("12:0:1.25", "At 12:00:01.25 every day"),
        ("12:*:0..50/0.7,51", "At seconds 0 to 49.7 by 0.7 and 51 of every minute from 12:00 to 12:59 every day"),
        ("*-*~1..5", "At 00:00 on the last 5 days of every month"),
        ("Mon *-05~07/1", "At 00:00 on the last 7 days of May if it is a Monday"),
        ("2027-04-11", "At 00:00 on the 11th of April 2027"),
        ("2027/2-04-11", "At 00:00 on the 11th of April in every 2nd year from 2027"),
        ("2026..2030-1-1", "At 00:00 on the 1st of January from 2026 to 2030"),
        ("2030..2199-*-*", "At 00:00 every day in every year from 2030"),
        ("2027-*-*", "At 00:00 every day in 2027"),
        (
            "Thu,Fri 2026-*-1,5 11:12:13",
            "At 11:12:13 on the 1st and 5th of every month in 2026 if it is a Thursday or a Friday",
        ),
        ("@1900000000", "At 17:46:40 on the 17th of March 2030"),
        ("*:*:59.999999", "At second 59.999999 of every minute"),
        ("2199-12-31", "At 00:00 on the 31st of December 2199"),
        ("2190..2199-1-1", "At 00:00 on the 1st of January in every year from 2190"),
    ],
)
def test_calendar_is_described(text: str, description: str) -> None:
    assert parse(Syntax.CALENDAR, text).describe() == description


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("1", "Every second"),
        ("15", "Every 15 seconds"),
        ("90", "Every 1 minute 30 seconds"),
        ("PT1H30M", "Every 1 hour 30 minutes"),
        ("60m", "Every hour"),
        ("36h", "Every 1 day 12 hours"),
        ("P2W", "Every 2 weeks"),
        ("1.5", "Every 1.5 seconds"),
        ("60.5", "Every 1 minute 0.5 seconds"),
    ],
)
def test_interval_is_described(text: str, description: str) -> None:
    assert parse(Syntax.INTERVAL, text, "Europe/Berlin", now=NOW).describe() == description


@pytest.mark.parametrize(
    ("text", "zone", "description"),
    [
        ("2030-01-31T09:00:00Z", "UTC", "Once, on Thursday, 31 January 2030 at 09:00 UTC"),
        ("2030-01-31T09:00:00.5+02:00", "UTC", "Once, on Thursday, 31 January 2030 at 07:00:00.5 UTC"),
        ("1896080405000", "Europe/Berlin", "Once, on Thursday, 31 January 2030 at 10:00:05 Europe/Berlin"),
    ],
)
def test_timestamp_is_described(text: str, zone: str, description: str) -> None:
    assert parse(Syntax.TIMESTAMP, text, zone).describe() == description
