"""What a row of the table of speeds is, and how rounds become a table: pure, so that it can be tested."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """What one round showed.

    Attributes:
        value: In the unit of its row.
        worker: Microseconds of processor time for each run (or answer) of the processes that work; None = not measured.
        server: The same of PostgreSQL.
        note: What else is to be said, e.g. that an answer is a refusal.
    """

    value: float
    worker: float | None = None
    server: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of the table.

    Attributes:
        name: What was measured; unique.
        unit: ``runs/s``, of which more is better, or ``ms``.
        before: What it was when the table was made first; empty = it is not one of ours, or it is new.
        aim: What it should be, in its unit; times the figure of ``against`` where that is given.
        against: The name of the row with which it is compared.
    """

    name: str
    unit: str = "runs/s"
    before: str = ""
    aim: float | None = None
    against: str = ""

    @property
    def more_is_better(self) -> bool:
        """Return whether the aim is the least that it should be."""
        return self.unit == "runs/s"


Rounds = Mapping[str, Sequence[Sample]]
"""The samples of each row, by its name."""

HEAD = ("", "before", "now", "worker, server", "compared", "aim", "")


def table(rows: Sequence[Row], rounds: Rounds) -> str:
    """Medians, least and most of the rounds beside what they are compared with, of all rows that were measured."""
    lines = [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
    for row in rows:
        if samples := rounds.get(row.name):
            cells = (row.name, row.before, _now(row, samples), _costs(samples), *_judged(row, rounds))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def shown(row: Row, sample: Sample) -> str:
    """One sample, as it is printed when it has been taken."""
    return f"{_number(sample.value)} {row.unit}{_costs_in_words(sample)}{f' ({sample.note})' if sample.note else ''}"


def _now(row: Row, samples: Sequence[Sample]) -> str:
    values = [one.value for one in samples]
    spread = f" ({_number(min(values))} to {_number(max(values))})" if len(values) > 1 else ""
    note = f", {samples[-1].note}" if samples[-1].note else ""
    return f"{_number(statistics.median(values))} {row.unit}{spread}{note}"


def _costs(samples: Sequence[Sample]) -> str:
    found = [
        statistics.median(values)
        for values in ([one.worker for one in samples if one.worker is not None],
                       [one.server for one in samples if one.server is not None])
        if values
    ]  # fmt: skip
    return f"{' + '.join(_number(one) for one in found)} µs" if found else ""


def _costs_in_words(sample: Sample) -> str:
    found = [_number(one) for one in (sample.worker, sample.server) if one is not None]
    return f", {' + '.join(found)} µs" if found else ""


def _judged(row: Row, rounds: Rounds) -> tuple[str, str, str]:
    """The ratio to what a row is compared with, its aim, and whether it is met."""
    value = statistics.median(one.value for one in rounds[row.name])
    if row.against:
        if not (others := rounds.get(row.against)):
            return "", f"of {row.against}, which was not measured", ""
        value /= statistics.median(one.value for one in others)
        ratio = f"{value:.2f} of {row.against}"
        if row.aim is None:
            return ratio, "", ""
        return ratio, _aim(row, f"{row.aim:g} of it"), _verdict(row, value)
    if row.aim is None:
        return "", "", ""
    return "", _aim(row, f"{_number(row.aim)} {row.unit}"), _verdict(row, value)


def _aim(row: Row, words: str) -> str:
    return f"{'≥' if row.more_is_better else '≤'} {words}"


def _verdict(row: Row, value: float) -> str:
    assert row.aim is not None
    return "met" if (value >= row.aim) == row.more_is_better or value == row.aim else "not met"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"
