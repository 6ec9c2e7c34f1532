"""Times, numbers and sentences as people write them."""

import ast
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from cronograph.jobs.core.base.times import counted, number_text, time_text
from tests.support.sources import Source, read_sources


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (2.0, "2"),
        (0.001, "0.001"),
        (-1.5, "-1.5"),
        (1000, "1,000"),
        (316224000.0, "316,224,000"),
        (1e300, "1e+300"),
        (10**400, "1e+400"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_a_number_has_no_exponent_and_no_needless_decimals(value: float, text: str) -> None:
    assert number_text(value) == text


def test_a_number_of_things_is_in_the_singular_for_one() -> None:
    assert [counted(number, "run") for number in (0, 1, 2, 2000)] == ["0 runs", "1 run", "2 runs", "2,000 runs"]
    assert [counted(number, "entry", "entries") for number in (1, 2)] == ["1 entry", "2 entries"]


def test_a_time_is_in_utc_and_ends_with_z() -> None:
    assert time_text(datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)) == "2026-03-01T12:00:05Z"
    assert time_text(datetime(2026, 3, 1, 12, 0, 5, 120_000, tzinfo=UTC)) == "2026-03-01T12:00:05.12Z"
    assert time_text(datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2)))) == "2026-03-01T10:00:00Z"


@pytest.mark.parametrize("source", read_sources("jobs/core/explain"), ids=lambda source: source.name)
def test_explanations_name_nothing_of_the_api(source: Source) -> None:
    # People read them on pages and in terminals, and know of no mutation.
    texts = {node.value for node in source.nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    sentences = {text for text in texts if " " in text}
    assert [text for text in sentences if re.search(r"\b[a-z]+[A-Z]\w*", text)] == []
