"""Under CI nothing that matters is skipped."""

import pytest

pytest_plugins = ("pytester",)

CONFTEST = """
from tests.support.requirements import pytest_collection_modifyitems, pytest_runtest_makereport
"""

SKIPPED = """
import pytest

@pytest.mark.browser
def test_marked():
    pytest.skip("no browser here")

def test_unmarked():
    pytest.skip("a reason of its own")
"""

INI = "[pytest]\nmarkers =\n    browser: needs a browser\n"


@pytest.mark.parametrize(("ci", "outcome"), [("true", {"failed": 1, "skipped": 1}), ("", {"skipped": 2})])
def test_a_skipped_browser_test_fails_under_ci_only(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ci: str, outcome: dict[str, int]
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(CONFTEST)
    pytester.makeini(INI)
    pytester.makepyfile(SKIPPED)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(**outcome)
