"""The reference cases: what croner and systemd answered, and where Cronograph decides otherwise (`ours`)."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cronograph.jobs.core.schedule import NEVER_FIRES, Syntax, validate

DATA = Path(__file__).parent / "data"


def cases(name: str) -> list[Any]:
    reference = json.loads((DATA / name).read_text(encoding="utf-8"))
    base = reference.get("from") or reference["base"]
    return [
        pytest.param(case, datetime.fromisoformat(case.get("from", base)), id=case["expr"])
        for case in reference["cases"]
    ]


@pytest.mark.parametrize(("case", "base"), cases("cron.json"))
def test_cron_agrees_with_croner(case: dict[str, Any], base: datetime) -> None:
    expected = case.get("ours_next") or case.get("next", [])
    validation = validate(Syntax.CRON, case["expr"], "UTC", count=max(1, len(expected)), after=base)
    assert validation.valid is (case["valid"] or "accepted" in case.get("ours", "")), validation.error
    if case.get("never_fires"):
        assert validation.error is not None
        assert validation.error.code == NEVER_FIRES
    if expected:
        assert [f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in validation.next_occurrences] == expected


@pytest.mark.parametrize(("case", "base"), cases("calendar.json"))
def test_calendar_agrees_with_systemd(case: dict[str, Any], base: datetime) -> None:
    ours = case.get("ours", "")
    validation = validate(Syntax.CALENDAR, case["expr"], "UTC", count=6, after=base)
    assert validation.valid is ("accepted" in ours or (case["valid"] and "invalid" not in ours)), validation.error
    if "NEVER_FIRES" in ours:
        assert validation.error is not None
        assert validation.error.code == NEVER_FIRES
    if case["next"] and not ours:
        shown = [f"{time:%Y-%m-%d %H:%M:%S} UTC" for time in validation.next_occurrences]
        assert shown[:5] == case["next"], "the reference lists five times, or all when there are fewer"
        assert len(shown) <= len(case["next"]) or len(shown) == 6


def test_a_fixed_offset_in_the_text_counts() -> None:
    base = datetime(2026, 5, 14, 10, 20, 30, tzinfo=UTC)
    validation = validate(Syntax.CALENDAR, "*-*-* 00:00:00 +02:00", "UTC", count=1, after=base)
    assert validation.next_occurrences == (datetime(2026, 5, 14, 22, tzinfo=UTC),)
