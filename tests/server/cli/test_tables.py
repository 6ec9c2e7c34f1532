"""Lists for people have headings of words, and cells that say when there is nothing."""

import pytest
from typer.testing import CliRunner

from cronograph.server.cli import application
from cronograph.server.cli.remote.lists import table


def test_headings_are_the_words_of_a_column() -> None:
    row = {"id": "7", "submittedAt": None, "progress": {"done": 2}}
    assert table([row], ("id", "submittedAt", "progress.done")) == "ID  SUBMITTED AT  DONE\n7   -             2"


def test_rows_that_a_narrow_terminal_has_no_room_for_have_a_line_for_each_field() -> None:
    row = {"id": "7", "submittedAt": None, "name": "nightly-report"}
    columns = ("id", "submittedAt", "name")
    assert table([row], columns, 32) == table([row], columns)
    block = "ID            7\nSUBMITTED AT  -\nNAME          nightly-report"
    assert table([row, row], columns, 31) == f"{block}\n\n{block}"


@pytest.mark.parametrize("columns", ["40", "60"])
@pytest.mark.parametrize(
    "words", [["--help"], ["enqueue", "--help"], ["tasks", "--help"], ["webhooks", "create", "-h"]]
)
def test_the_help_is_whole_in_a_narrow_terminal(
    columns: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    told = CliRunner().invoke(application(), words)
    assert told.exit_code == 0
    assert "…" not in told.output
    too_long = [line for line in told.output.splitlines() if len(line) > int(columns) and len(line.split()) > 1]
    assert too_long == []
