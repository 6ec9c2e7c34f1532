"""What takes turns is complete in a few of them, and each run says what it left."""

from collections.abc import Sequence

import pytest

from tests.support.choosing import COSTLY_TURNS, left_to_others
from tests.support.turns import turn_of

pytest_plugins = ("pytester",)

CONFTEST = """
import pytest
from tests.support.turns import (
    pytest_collection_modifyitems, pytest_sessionfinish, pytest_terminal_summary, pytest_testnodedown
)

@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request):
    return request.param
"""

TESTS = """
import pytest

def test_one(database_url):
    assert database_url

@pytest.mark.parametrize("case", ["sqlite", "b", "c"])
def test_more(database_url, case):
    assert case

@pytest.mark.both_databases
def test_both(database_url):
    assert database_url

@pytest.mark.rotating(3)
@pytest.mark.parametrize("case", range(7))
def test_cases(case):
    assert case >= 0

@pytest.mark.rotating(3)
def test_cases_on_databases(database_url):
    assert database_url

@pytest.mark.costly
@pytest.mark.parametrize("case", range(10))
def test_dear_cases(database_url, case):
    assert database_url

@pytest.mark.costly
def test_dear(database_url):
    assert database_url

@pytest.mark.costly
def test_dear_once():
    pass

def test_plain():
    pass
"""

INI = """[pytest]
markers =
    both_databases: no turns
    costly: turns
    rotating(turns): turns
addopts = -p no:cacheprovider -p xdist.plugin -v
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> "Run":
    pytester.makeconftest(CONFTEST)
    pytester.makeini(INI)
    for folder in ("actions", "queue"):
        (pytester.path / "tests" / folder).mkdir(parents=True)
        (pytester.path / "tests" / folder / f"test_{folder}.py").write_text(TESTS)
    return Run(pytester, monkeypatch)


class Run:
    """Runs the tests of a project with a folder that alternates and one that does not."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self._pytester = pytester
        self._monkeypatch = monkeypatch

    def __call__(self, turn: str, *arguments: str) -> tuple[list[str], str]:
        """Return which tests ran, and what was printed."""
        self._monkeypatch.setenv("ROTATION", turn)
        # Other plugins take nine tenths of the time.
        self._monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        result = self._pytester.runpytest_inprocess(*arguments)
        assert result.ret == pytest.ExitCode.OK
        words = [line.split() for line in result.outlines]
        ran = [word for line in words if "PASSED" in line for word in line if word.startswith("tests/")]
        return ran, result.stdout.str()


def test_turns_one_after_the_other_leave_nothing_out(run: Run, pytester: pytest.Pytester) -> None:
    everything, output = run("all")
    assert len(everything) == len(set(everything)) == 2 * 43
    assert "left to other turns" not in output
    items, _ = pytester.inline_genitems()
    assert [item.nodeid for item in items] == everything
    turns = [turn_among(items, turn) for turn in range(5, 5 + COSTLY_TURNS)]
    ran, output = run("5")
    assert set(ran) == turns[0]
    assert "left to other turns: 41 costly, 4 of the other database, 10 rotating" in output

    alternating = {name for name in everything if "actions.py::test_one" in name or "actions.py::test_more" in name}
    assert len(alternating) == 8
    assert (turns[0] | turns[1]) & alternating == alternating
    assert turns[0] & turns[1] & alternating == set()
    # Every other one on SQLite: neither database is left out in a module.
    assert [sum("[sqlite" in name for name in turn & alternating) for turn in turns] == [2] * COSTLY_TURNS

    rotating = {name for name in everything if "test_cases" in name}
    assert set.union(*turns) & rotating == rotating
    assert [len(turn & rotating) for turn in turns] == [2 * (3 + 1)] * COSTLY_TURNS

    dear = {name for name in everything if "test_dear" in name}
    assert set.union(*turns) & dear == dear
    assert [sum(name.startswith("tests/actions") for name in turn & dear) for turn in turns] == [1 + 1] * COSTLY_TURNS
    # Where databases do not alternate, each turn has cases of a function on both.
    assert [sum("queue.py::test_dear_cases[sqlite" in name for name in turn) for turn in turns] == [1] * COSTLY_TURNS
    assert [sum("queue.py::test_dear_cases[postgres" in name for name in turn) for turn in turns] == [1] * COSTLY_TURNS
    few = [
        {name for name in turn if "queue.py::test_dear[" in name or "queue.py::test_dear_once" in name}
        for turn in turns
    ]
    assert [len(turn) for turn in few] == [1] * COSTLY_TURNS

    assert {*everything} - alternating - rotating - dear <= set.intersection(*turns)


def turn_among(items: Sequence[pytest.Item], turn: int) -> set[str]:
    """Return the names of the tests that run in a turn."""
    return {item.nodeid for item in items} - {item.nodeid for _, item in left_to_others(items, turn)}


def test_a_test_asked_for_on_one_database_runs_in_each_turn(run: Run) -> None:
    asked = "tests/actions/test_actions.py::test_one[postgres]"
    assert run("0", asked)[0] == run("1", asked)[0] == [asked]


@pytest.mark.costly
def test_with_several_workers_the_run_says_once_what_it_left(run: Run) -> None:
    _, output = run("3", "-n", "2")
    said = "ROTATION=3: left to other turns: 41 costly, 4 of the other database, 10 rotating; `make test` runs all"
    assert output.count(said) == 1


def test_a_turn_is_a_number() -> None:
    assert turn_of("12") == 12
    with pytest.raises(pytest.UsageError, match="ROTATION must be a number or 'all', got 'next'"):
        turn_of("next")
