"""The pages are written in short sentences, without the words that strangers stumbled over."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.docs.messages import in_python, in_the_dashboard, in_the_schema, is_message
from tests.docs.plain_english import (
    IN_CODE,
    IN_MESSAGES,
    STUMBLED_OVER,
    average,
    faults,
    long_sentences,
    sentences,
    stumbling_blocks,
)
from tests.support.sources import ROOT, product_sources

PAGES = [
    ROOT / "ABOUT.md",
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]
PAGES += [*sorted((ROOT / "docs" / "examples").glob("*/README.md")), ROOT / "docs" / "monitoring" / "README.md"]
FOR_DEVELOPERS = {"CONTRIBUTING.md", "docs/performance.md"}
"""Pages that users need not read; the help of the commands is a page for users, `cli-reference.md`."""
AVERAGE = 20


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_is_in_plain_english(page: Path) -> None:
    words = STUMBLED_OVER if name(page) in FOR_DEVELOPERS else IN_MESSAGES
    found = faults(page, words)
    text = page.read_text(encoding="utf-8")
    assert found == {}, [*long_sentences(text), stumbling_blocks(text, words)]
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


@pytest.mark.parametrize(("texts", "at_least"), [(in_python, 2500), (in_the_schema, 1800), (in_the_dashboard, 350)])
def test_messages_are_in_plain_english(texts: Callable[[], Iterator[tuple[str, str]]], at_least: int) -> None:
    found = list(texts())
    assert len(found) >= at_least, "the texts are collected in another way"
    assert [(where, text) for where, text in found if stumbling_blocks(text, IN_MESSAGES)] == []
    assert [(where, text) for where, text in found if long_sentences(text)] == []


def test_the_code_has_no_word_that_people_stumbled_over_most() -> None:
    texts = {source.name: source.text for source in product_sources()}
    for path in (ROOT / "web" / "src").rglob("*.ts*"):
        texts[name(path)] = path.read_text(encoding="utf-8")
    assert [
        where for where, text in texts.items() if re.search(r"\b(anew|whoever|whatever)\b", text, re.IGNORECASE)
    ] == []


def test_comments_and_docstrings_use_the_words_of_the_field() -> None:
    in_code = re.compile(rf"\b({'|'.join(IN_CODE)})\b", re.IGNORECASE)
    assert [
        f"{source.name}:{number}: {line.strip()}"
        for source in product_sources()
        for number, line in enumerate(source.text.splitlines(), 1)
        if in_code.search(line)
    ] == []


def test_what_is_no_message_is_left_out() -> None:
    assert [is_message(text) for text in ("two words", "SELECT a, b, c FROM run", "the_name_of_one")] == [False] * 3
    assert is_message("argument 'a': must be text, got 7")
