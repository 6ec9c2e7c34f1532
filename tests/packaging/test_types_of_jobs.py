"""mypy and pyright, both strict, accept what is right and refuse what is wrong in code that uses jobs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USES = (Path(__file__).parent / "uses_of_jobs.txt").read_text()
CHECKERS = {
    "M": [sys.executable, "-m", "mypy", "--hide-error-context"],
    "P": [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p"],
}
"""mypy has the project's own settings: what `make check` has found out about the sources is not found out again."""


def expected(mark: str) -> dict[int, str]:
    """Return what a checker has to say, by line."""
    lines = enumerate(USES.splitlines(), start=1)
    found = {number: re.search(rf"# {mark}: (.*?)(?: # [MP]: |$)", line) for number, line in lines}
    return {number: match[1] for number, match in found.items() if match}


def by_line(output: str) -> dict[int, str]:
    """Return what a checker said, by line; pyright goes on with its reasons on further ones."""
    said: dict[int, str] = {}
    last = 0
    for line in output.splitlines():
        place = re.search(r"uses\.py:(\d+):.*? error: (.*)", line)
        if place:
            last = int(place[1])
            said[last] = said.get(last, "") + place[2]
        elif last and line[:4].isspace():
            said[last] += line
    return said


@pytest.mark.costly
@pytest.mark.packaging
@pytest.mark.timeout(180)
@pytest.mark.parametrize("mark", CHECKERS)
def test_good_uses_pass_and_wrong_ones_are_refused_with_their_reason(mark: str, tmp_path: Path) -> None:
    (tmp_path / "uses.py").write_text(USES)
    links = str(ROOT / ".links")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", "extraPaths": [links]}))
    where = tmp_path / "uses.py" if mark == "M" else tmp_path
    ended = subprocess.run([*CHECKERS[mark], str(where)], cwd=ROOT, capture_output=True, text=True, check=False)
    said, wanted = by_line(ended.stdout), expected(mark)
    assert len(wanted) == 13
    assert {number: words for number, words in said.items() if number not in wanted} == {}
    missed = {number: said.get(number) for number, words in wanted.items() if words not in said.get(number, "")}
    assert missed == {}
