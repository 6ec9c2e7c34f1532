"""Times, big integers and JSON values: what is taken, how it is written, and what is refused."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from cronograph.graphql.base.scalars import parse_bigint, parse_duration, parse_time, serialize_bigint
from cronograph.jobs.core.base.times import time_text
from graphql import GraphQLError


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01t12:00:00z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01 12:00:00+02:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T12:00:00.5-05:30", datetime(2026, 3, 1, 17, 30, 0, 500_000, tzinfo=UTC)),
        ("2026-03-01T12:00:00.123456789Z", datetime(2026, 3, 1, 12, 0, 0, 123_456, tzinfo=UTC)),
    ],
)
def test_times_are_taken_with_any_offset(text: str, instant: datetime) -> None:
    assert parse_time(text) == instant


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T12:00:00", "2026-03-01", "2026-02-30T00:00:00Z", "2026-03-01T24:00:00Z", "2026-03-01T12:00Z", "now",
        "", "2026-W10-1T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "٢٠٢٦-03-01T12:00:00Z",
        17, None, 1.5, True, ["2026-03-01T12:00:00Z"],
    ],
)  # fmt: skip
def test_what_is_no_time_with_a_zone_is_refused(text: object) -> None:
    with pytest.raises(GraphQLError, match="DateTime: "):
        parse_time(text)


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (datetime(2026, 3, 1, 12, tzinfo=UTC), "2026-03-01T12:00:00Z"),
        (datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC), "2026-03-01T12:00:00.25Z"),
        (datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC), "2026-03-01T12:00:00.000001Z"),
        (datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2))), "2026-03-01T10:00:00Z"),
    ],
)
def test_times_are_written_in_utc_with_the_decimals_they_have(instant: datetime, text: str) -> None:
    assert time_text(instant) == text
    assert parse_time(text) == instant


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 1.0, "9223372036854775808", "1.0", " 1", "", True, None])
def test_big_integers_have_64_bits(value: object) -> None:
    with pytest.raises(GraphQLError, match="BigInt: must be a whole number of at most 64 bits"):
        parse_bigint(value)
    assert parse_bigint(2**63 - 1) == 2**63 - 1
    assert parse_bigint(-(2**63)) == -(2**63)


@pytest.mark.parametrize("number", [0, -7, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)])
def test_big_integers_keep_their_digits_in_a_reader_whose_numbers_are_floats(number: int) -> None:
    written: Any = json.loads(json.dumps(serialize_bigint(number)), parse_int=float)
    assert int(written) == number
    assert parse_bigint(serialize_bigint(number)) == number


@pytest.mark.parametrize("value", ["60", True, None, [1.0], 10**400])
def test_what_is_no_length_of_time_is_refused(value: object) -> None:
    with pytest.raises(GraphQLError, match=r"Duration: must be a (finite )?number of seconds"):
        parse_duration(value)
    assert (parse_duration(90), parse_duration(0.25)) == (90.0, 0.25)
