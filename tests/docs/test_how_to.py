"""The pages of how-to: each is one question, and what fastapi.md shows of an example stands there; and the pictures."""

import re

from cronograph.jobs.core.states import TRANSITIONS
from tests.docs.blocks import blocks_of
from tests.support.sources import ROOT

FOLDER = ROOT / "docs" / "how-to"


def test_each_page_is_one_question() -> None:
    titles = {page.name: page.read_text(encoding="utf-8").splitlines()[0] for page in FOLDER.glob("*.md")}
    assert titles
    assert {name: title for name, title in titles.items() if not (title.startswith("# ") and title.endswith("?"))} == {}


def test_the_guide_shows_what_the_example_has() -> None:
    shown = [one.text for one in blocks_of(FOLDER / "fastapi.md") if one.test is not None]
    example = (ROOT / "docs" / "examples" / "orders" / "app.py").read_text(encoding="utf-8")
    assert shown
    assert [text for text in shown if text not in example] == []


def test_the_picture_of_the_states_has_every_transition_and_no_other() -> None:
    picture = (ROOT / "docs" / "images" / "states.svg").read_text(encoding="utf-8")
    drawn = {
        (one, new)
        for tag in re.findall(r"<(?:path|rect) [^>]*data-[^>]*>", picture)
        for new in re.findall(r'data-to="(\w+)"', tag)
        for one in re.findall(r'data-from="([\w ]+)"', tag)[0].split()
    }
    assert drawn == {(old.value, new.value) for old, following in TRANSITIONS.items() for new in following}
