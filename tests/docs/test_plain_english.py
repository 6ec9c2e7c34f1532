"""The pages are written in short sentences, without the words that strangers stumbled over."""

from collections import Counter
from pathlib import Path

import pytest

from tests.docs.plain_english import average, faults, long_sentences, sentences, stumbling_blocks
from tests.support.sources import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]
PAGES += [*sorted((ROOT / "docs" / "examples").glob("*/README.md")), ROOT / "docs" / "monitoring" / "README.md"]
NOT_YET = {
    # Made from the descriptions of the API and from the help of the commands.
    "docs/api-reference.md": {"is told": 3, "lies in": 2, "long sentences": 1},
    "docs/cli-reference.md": {"lie in": 1, "lies in": 1, "long sentences": 1, "of yours": 1},
    # How each figure was measured.
    "docs/performance.md": {"long sentences": 14},
}
"""What is still there, by page; it only becomes less."""
AVERAGE = 20


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_is_in_plain_english(page: Path) -> None:
    found = faults(page) - Counter(NOT_YET.get(name(page), {}))
    text = page.read_text(encoding="utf-8")
    assert found == {}, [*long_sentences(text), stumbling_blocks(text)]
    assert average(text) <= AVERAGE


def test_what_is_no_sentence_does_not_count() -> None:
    text = "# A heading\n```sh\nlies in anew\n```\n| lies in | a table |\nOne. See [this page](a.md): two `lies in`!\n"
    assert list(sentences(text)) == ["One.", "See this page:", "two code!"]
    assert stumbling_blocks(text) == {}


@pytest.mark.parametrize(("words", "long"), [(40, 0), (41, 1)])
def test_a_sentence_that_is_too_long_is_found_across_lines(words: int, long: int) -> None:
    assert len(long_sentences("A short one. " + "\n".join(["word"] * words) + ".")) == long


def test_a_word_that_people_stumble_over_is_found_across_lines_and_in_any_case() -> None:
    assert stumbling_blocks("Whoever reads\nit does\nwithout. Anewly.") == {"whoever": 1, "does without": 1}
