"""What takes turns: of tests that repeat what others show, a run of `.ci/run` has a share, and another turn the rest.

`ROTATION` says which turn it is: a number, or `all`, which is also what holds when it is not set. Turns that follow
each other leave nothing out: with two databases there are two of them, with `@pytest.mark.rotating(3)` three, and
twenty with `@pytest.mark.costly`.

What is `costly` is measured: a test function whose cases take more than half a second in all, in a browser a second
and a quarter, of processor time on a machine whose cores are all at work; `make test-costs` names those that have no
such marker. So is what waits for about a second by the clock.
"""

import os
from collections import Counter
from typing import Any

import pytest

from tests.support.choosing import left_to_others

ROTATION = "ROTATION"
"""The variable that names the turn."""

LEFT = "left_to_other_turns"
"""Under which name a worker of pytest says what it has left out."""

_LEFT_OUT = pytest.StashKey[dict[str, int]]()


def turn_of(value: str) -> int | None:
    """The number of the turn; None = everything runs. Raises `pytest.UsageError` where neither is meant."""
    if value in {"", "all"}:
        return None
    if value.isascii() and value.isdigit():
        return int(value)
    raise pytest.UsageError(f"{ROTATION} must be a number or 'all', got {value!r}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to the other turns what is theirs."""
    turn = turn_of(os.environ.get(ROTATION, ""))
    if turn is None:
        return
    left = list(left_to_others(items, turn))
    config.stash[_LEFT_OUT] = dict(Counter(name for name, _ in left))
    others = {item for _, item in left}
    if others:
        config.hook.pytest_deselected(items=list(others))
        items[:] = [item for item in items if item not in others]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist says what it has left out; all of them have left out the same."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[LEFT] = session.config.stash.get(_LEFT_OUT, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Keep what a worker said; one that was killed says nothing."""
    left = getattr(node, "workeroutput", {}).get(LEFT)
    if left:
        node.config.stash[_LEFT_OUT] = left


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say at the end what this run did not try."""
    left = config.stash.get(_LEFT_OUT, {})
    if left:
        kinds = ", ".join(f"{count} {name}" for name, count in sorted(left.items()))
        turn = os.environ.get(ROTATION, "")
        terminalreporter.write_line(f"{ROTATION}={turn}: left to other turns: {kinds}; `make test` runs all")
