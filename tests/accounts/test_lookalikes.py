"""Names that people cannot tell apart have one look; others have not."""

import pytest

from cronograph.jobs.accounts.rules.accounts import check_account_name, look_of
from cronograph.jobs.core.base.errors import InvalidInput


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("admin", "\u0430dmin"),
        ("admin", "\u0430dm\u0456n"),
        ("ALICE", "\u0391LICE"),
        ("alice", "AIice"),
        ("bob", "b\u043eb"),
        ("bob", "B\u03bfb"),
        ("bob", "b0b"),
        ("carol", "caro1"),
        ("zo\u00eb", "zo\u0451"),
        ("eve", "\uff45\uff56\uff45"),
        ("eve", "\U0001d41e\U0001d42f\U0001d41e"),
        ("paul", "p\u0251ul"),
        ("sam", "\u0455am"),
        ("ann", "a\u034fnn"),
        ("ann", "ann\u3164"),
        ("ann", "an\ufe0fn"),
        ("xenia", "\u0445enia"),
        ("\u0441\u0430\u0440", "cap"),
    ],
)
def test_names_that_look_alike_have_one_look(one: str, other: str) -> None:
    assert look_of(one) == look_of(other)


def test_names_that_people_can_distinguish_have_several() -> None:
    names = ["ann", "anne", "zoe", "zo\u00eb", "modern", "modem", "node1", "node2", "\u0438\u0432\u0430\u043d"]
    names += ["\u5c71\u7530", "\u5c71\u672c", "\u03b4\u03b7\u03bc\u03cc\u03c2"]
    assert len({look_of(name) for name in names}) == len(names)


def test_nobody_is_called_like_the_local_administrator() -> None:
    with pytest.raises(InvalidInput, match="must not be"):
        check_account_name("loc\u0430l administrator")
