"""What the settings let a node take, and what is told of a choice that cannot be or means nothing."""

from typing import Any

import pytest

from cronograph.jobs.core.nodes import NodeChoice
from cronograph.jobs.registry import Registry, define
from cronograph.server.configuration.reading import given
from cronograph.server.preparation import choice_faults, choice_of, choice_warnings


def jobs() -> Registry:
    """Two jobs, one with a tag."""
    registry = Registry()

    async def work() -> None: ...

    registry.add(define("work", work))
    registry.add(define("render", work, tags="gpu"))
    return registry


def test_names_are_separated_by_commas_and_may_hold_blanks() -> None:
    settings = given(
        {"groups": "acme , the shop", "only_jobs": ["work,render", "x"], "tags": "gpu", "without_tags": ()}
    )
    assert choice_of(settings) == NodeChoice(("acme", "the shop"), ("work", "render", "x"), ("gpu",))


@pytest.mark.parametrize(
    ("settings", "faults", "warnings"),
    [
        ({}, [], []),
        ({"groups": "nobody-knows"}, [], []),
        (
            {"only_jobs": "work", "tags": "gpu"},
            [],
            ["this node takes only the job 'work' and jobs with the tag 'gpu', and"],
        ),
        (
            {"only_jobs": "wrok"},
            ["only_jobs: must be jobs of this node, got 'wrok'; did you mean 'work'?"],
            ["this node"],
        ),
        ({"only_jobs": "work,zzz"}, ["only_jobs: must be jobs of this node, got 'zzz'; there are render, work"], []),
        ({"tags": "gpu,gpo"}, [], ["tags: no job of this node carries the tag 'gpo'"]),
        ({"without_tags": "cpu"}, [], ["without_tags: no job of this node carries the tag 'cpu'"]),
    ],
)
def test_what_cannot_be_taken_is_reported(settings: dict[str, Any], faults: list[str], warnings: list[str]) -> None:
    known, chosen = jobs(), given(settings)
    assert list(choice_faults(chosen, known)) == faults
    told = list(choice_warnings(chosen, known))
    assert len(told) == len(warnings)
    assert all(one.startswith(words) for one, words in zip(told, warnings, strict=True))
