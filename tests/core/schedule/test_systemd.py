"""Random calendar events against `systemd-analyze calendar`, where it is installed.

Exclusions, all deliberate: systemd skips the first repetition after a rollover, so its times may leave out some of
ours when the event repeats or has a range; it refuses some lists after `~` (each further item must lie three days
closer to the end of the month) and ranges of seconds that hold a single second; it knows no zones `Z` and `+02:00`;
clock changes follow other rules, so only UTC is compared.
"""

import os
import re
import shutil
import subprocess
from datetime import UTC, datetime
from random import Random

import pytest

from cronograph.jobs.core.schedule import NEVER_FIRES, Syntax, validate
from tests.core.schedule.random_calendar import random_calendar

EVENTS = int(os.environ.get("CRONOGRAPH_TEST_EXPRESSIONS", "10000")) // 50
"""Each takes a process of its own, so there are fewer of them."""
SEED = int(os.environ.get("CRONOGRAPH_TEST_SEED", "20260514"))
ITERATIONS = 4
SYSTEMD_ANALYZE = shutil.which("systemd-analyze")
REFUSED_BY_SYSTEMD_ONLY = re.compile(r"~[^ ]*,|:(?:[^ :]*,)?(\d+(?:\.\d+)?)\.\.\1|:\d+\.\d+\.\.")

needs_systemd = pytest.mark.skipif(SYSTEMD_ANALYZE is None, reason="systemd-analyze is not installed")


def ask_systemd(event: str, base: datetime) -> list[str] | None:
    """The next times to the second, or None if the event is refused."""
    assert SYSTEMD_ANALYZE is not None
    answer = subprocess.run(
        [
            SYSTEMD_ANALYZE,
            "calendar",
            f"--base-time={base:%Y-%m-%d %H:%M:%S} UTC",
            f"--iterations={ITERATIONS}",
            "--",
            event,
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "TZ": "UTC", "LC_ALL": "C"},
        check=False,
    )
    if "Normalized form" not in answer.stdout:
        return None
    return re.findall(r"(?:Next elapse|Iter\. #\d+): \w+ (\S+ \S+) UTC", answer.stdout)


@pytest.mark.costly
@needs_systemd
def test_random_events_agree_with_systemd() -> None:
    compared = 0
    for number in range(EVENTS):
        random = Random(f"{SEED} {number}")
        event, _ = random_calendar(random, daily=False)
        base = datetime(random.randint(2024, 2030), random.randint(1, 12), 28, 23, random.randint(0, 59), tzinfo=UTC)
        place = f"seed {SEED}, number {number}: '{event}' after {base}"
        expected = ask_systemd(event, base)
        validation = validate(Syntax.CALENDAR, event, "UTC", count=ITERATIONS, after=base)
        if expected is None:
            assert REFUSED_BY_SYSTEMD_ONLY.search(event), f"{place}: systemd refuses it"
            continue
        found = [f"{time:%Y-%m-%d %H:%M:%S}" for time in validation.next_occurrences]
        if not expected:
            assert validation.error is not None, place
            assert validation.error.code == NEVER_FIRES, place
        elif found != expected:
            assert re.search(r"/|\.\.", event), f"{place}: expected {expected}, got {found}"
            assert found[0] <= expected[0], f"{place}: expected {expected}, got {found}"
        else:
            compared += 1
    assert compared > EVENTS * 0.7


@pytest.mark.costly
@needs_systemd
def test_mutilated_events_are_judged_as_systemd_judges_them() -> None:
    letters = "0123456789*,-/.~: @MonTueWdUTC"
    for number in range(EVENTS):
        random = Random(f"mutilated {SEED} {number}")
        event = list(random_calendar(random, daily=False)[0])
        for _ in range(random.randint(1, 2)):
            place = random.randrange(len(event))
            event[place : place + random.randint(0, 1)] = random.choice(letters)
        text = "".join(event)
        base = datetime(2026, 5, 14, 10, 20, 30, tzinfo=UTC)
        expected = ask_systemd(text, base)
        validation = validate(Syntax.CALENDAR, text, "UTC", count=1, after=base)
        accepted = validation.error is None or validation.error.code == NEVER_FIRES
        if accepted != (expected is not None):
            assert accepted, f"seed {SEED}, number {number}: systemd accepts '{text}': {validation.error}"
            assert REFUSED_BY_SYSTEMD_ONLY.search(text), f"seed {SEED}, number {number}: systemd refuses '{text}'"
