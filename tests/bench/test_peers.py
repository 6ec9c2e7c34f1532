"""The table and the plot of the comparison with other job queues."""

from pathlib import Path
from xml.etree import ElementTree as ET

from tests.bench.peers.plot import svg
from tests.bench.peers.run import BEGIN, CONTENDERS, END, FOLDER, PAGE, table
from tests.bench.peers.tally import Tally


def test_the_table_shows_median_spread_and_our_share_of_the_others() -> None:
    found = {
        "cronograph": [{"drained/s": 30.0}, {"drained/s": 10.0}, {"drained/s": 20.0}],
        "pgqueuer": [{"drained/s": 10.0}],
    }
    assert table(found).splitlines() == [
        "| | drained/s |",
        "|---|---|",
        "| cronograph | 20 (10 to 30) |",
        "| pgqueuer | 10 (10 to 10) |",
        "| cronograph / pgqueuer | 2.00 |",
    ]


def test_what_is_not_measured_has_no_ratio() -> None:
    found = {"cronograph, SQLite": [{"server": 0.0}], "huey, SQLite": [{"server": 0.0}]}
    assert [line.rpartition("|")[0].split("|")[-1].strip() for line in table(found).splitlines()[2:]] == ["", "", ""]


def test_the_plot_has_a_bar_for_each_figure_as_long_as_it_is() -> None:
    drawn = ET.fromstring(svg("a < b", {"cronograph": 100.0, "other & more": 50.0}))
    bars = [one for one in drawn if one.tag.endswith("rect")]
    longest, other = (float(bar.attrib["width"]) for bar in bars)
    assert (longest, [bar.get("class") for bar in bars]) == (2 * other, ["ours", None])


def test_every_contender_has_its_file_and_the_page_a_place_for_them() -> None:
    assert all((FOLDER / f"contender_{one.file}.py").exists() for one in CONTENDERS.values())
    assert 0 <= PAGE.read_text().find(BEGIN) < PAGE.read_text().find(END)


async def test_processes_that_drain_together_know_when_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "tally"
    path.touch()
    first, second = (Tally(path, member, 2, 3) for member in (0, 1))
    assert [first.one(), second.one(), first.done(), second.one(), first.done()] == [False, False, False, True, True]
    await first.wait()
