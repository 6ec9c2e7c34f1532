"""Lists for people have headings of words, and cells that say when there is nothing."""

from cronograph.server.cli.remote.lists import table


def test_headings_are_the_words_of_a_column() -> None:
    row = {"id": "7", "submittedAt": None, "progress": {"done": 2}}
    assert table([row], ("id", "submittedAt", "progress.done")) == "ID  SUBMITTED AT  DONE\n7   -             2"
