"""Measures schedules: the time to parse, to find the next time and to describe, and the worst 256-character inputs.

Run it on a quiet machine, from the repository's root: `python -m tests.bench.bench_schedule`; `--help` lists the
options. It judges nothing.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

from cronograph.jobs.core.schedule import Schedule, Syntax, Validation, parse, validate
from tests.core.schedule.adversarial import Case, adversarial

NOW = datetime(2026, 5, 14, 10, 20, 30, tzinfo=UTC)
TYPICAL = (
    (Syntax.CRON, "0 */5 * * * *", "UTC"),
    (Syntax.CRON, "0 30 9 * * MON-FRI", "UTC"),
    (Syntax.CRON, "0 30 9 * * MON-FRI", "Europe/Berlin"),
    (Syntax.CRON, "0 0 * * * *", "Europe/Berlin"),
    (Syntax.CRON, "0 0 0 L JAN-MAR FRI", "UTC"),
    (Syntax.CRON, "0 0 0 29 2 MON", "Europe/Berlin"),
    (Syntax.CALENDAR, "Mon..Fri 09:30", "UTC"),
    (Syntax.CALENDAR, "*-*~1..3/2 0/6:00 Europe/Berlin", "UTC"),
    (Syntax.CALENDAR, "*:*:0/0.25", "UTC"),
    (Syntax.INTERVAL, "1h30m", "UTC"),
    (Syntax.TIMESTAMP, "2030-01-31T09:00:00Z", "UTC"),
)


def microseconds(action: Callable[[], object], budget: float) -> float:
    """The mean time of one call, in microseconds, over as many calls as fit in so many seconds."""
    calls, begin = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begin) < budget:
        action()
        calls += 1
    return elapsed / calls * 1e6


def report(write: Callable[[str], object], budget: float) -> None:
    """Writes both tables, a line at a time; ``budget`` in seconds is for each figure."""
    write(f"{'parse µs':>10} {'next µs':>10} {'describe µs':>12}  schedule\n")
    for case in TYPICAL:
        schedule = parsed(case)
        times = (
            microseconds(partial(parsed, case), budget),
            microseconds(partial(schedule.next_after, NOW), budget),
            microseconds(schedule.describe, budget),
        )
        syntax, text, zone = case
        write(f"{times[0]:10.1f} {times[1]:10.1f} {times[2]:12.1f}  {syntax} '{text}' {zone}\n")
    write(f"\n{'first ms':>10} {'again ms':>10}  validation of 5 times of the costliest 256-character inputs\n")
    for case in adversarial():
        begin = time.perf_counter()
        validated(case)
        first = time.perf_counter() - begin
        again = microseconds(partial(validated, case), budget)
        syntax, text, zone = case
        write(f"{first * 1e3:10.2f} {again / 1e3:10.2f}  {syntax} '{text[:60]}' {zone[:30]}\n")


def parsed(case: Case) -> Schedule:
    """The schedule of a syntax, value and zone."""
    syntax, text, zone = case
    return parse(syntax, text, zone, now=NOW)


def validated(case: Case) -> Validation:
    """The judgement of a syntax, value and zone, with its next five times."""
    syntax, text, zone = case
    return validate(syntax, text, zone, count=5, after=NOW)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.2, help="to measure each figure for")
    report(sys.stdout.write, parser.parse_args(arguments).seconds)


if __name__ == "__main__":
    main()
