"""The key of a run as its arguments say it: one text for one value, and for a value that is none, that value."""

import pytest

from cronograph.jobs.core.limits import UniqueKey

SCHEMA = {"properties": {"day": {"type": "string", "format": "date"}, "at": {"type": "string", "format": "date-time"}}}


@pytest.mark.parametrize(
    ("argument", "value", "key"),
    [
        ("day", "2026-03-01", 'work(day="2026-03-01")'),
        ("day", "soon", 'work(day="soon")'),
        ("at", "2026-03-01T00:00:00+00:00", 'work(at="2026-03-01T00:00:00Z")'),
        ("at", "", 'work(at="")'),
    ],
)
def test_a_text_that_is_none_of_its_format_stands_in_the_key_as_it_is(argument: str, value: str, key: str) -> None:
    assert UniqueKey.declared([argument], None, SCHEMA).of("work", {argument: value}) == key
