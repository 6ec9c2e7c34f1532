"""The table of speeds: rows and verdicts, and that its lines fill the rows that they name."""

from tests.bench.peers import kinds
from tests.bench.peers.run import PAGE
from tests.bench.table.lines import LINES
from tests.bench.table.rows import HEAD, Row, Sample, shown, table
from tests.bench.table.run import BEGIN, END

OTHER, OURS = Row("other"), Row("ours", before="7", aim=0.9, against="other")
ANSWER = Row("answer", "ms", aim=3)


def cells(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_a_row_shows_median_spread_costs_ratio_and_verdict() -> None:
    rounds = {
        "other": [Sample(100), Sample(300), Sample(200)],
        "ours": [Sample(190, 20, 50), Sample(170, 22, 40), Sample(180, 21, 60)],
    }
    assert cells(table([OTHER, OURS], rounds)) == [
        ["other", "", "200 runs/s (100 to 300)", "", "", "", ""],
        ["ours", "7", "180 runs/s (170 to 190)", "21.0 + 50.0 µs", "0.90 of other", "≥ 0.9 of it", "met"],
    ]


def test_of_milliseconds_fewer_are_better_and_notes_are_reported() -> None:
    assert cells(table([ANSWER], {"answer": [Sample(3.5, note="LIMIT_SORTED_ROWS")]})) == [
        ["answer", "", "3.5 ms, LIMIT_SORTED_ROWS", "", "", "≤ 3.0 ms", "not met"]
    ]
    assert shown(ANSWER, Sample(2, 1_500)) == "2.0 ms, 1,500 µs"


def test_what_was_not_measured_is_no_row_and_nobody_is_compared_with_it() -> None:
    assert cells(table([OTHER, OURS], {"ours": [Sample(5)]})) == [
        ["ours", "7", "5.0 runs/s", "", "", "of other, which was not measured", ""]
    ]


def test_every_row_has_a_name_of_its_own_and_is_compared_with_another() -> None:
    names = [row.name for line in LINES for row in line.rows]
    assert len(set(names)) == len(names)
    assert {row.against for line in LINES for row in line.rows if row.against} <= set(names)
    assert table([], {}).splitlines()[0].count("|") == len(HEAD) + 1


def test_every_way_of_the_kinds_has_a_row() -> None:
    rows = {row.name for line in LINES for row in line.rows}
    assert [
        (name, kind, work)
        for kind, work in kinds.TASKS
        for name, way in kinds.WAYS.items()
        if kinds.does(way, kind, work) and not any(row.endswith(f", {name}") for row in rows)
    ] == []


def test_the_page_has_a_place_for_the_table() -> None:
    assert 0 <= PAGE.read_text().find(BEGIN) < PAGE.read_text().find(END)
