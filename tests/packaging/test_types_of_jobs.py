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
    "M": [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "uses.py"],
    "P": [sys.executable, "-m", "pyright", "-p", ".", "--pythonpath", sys.executable],
}
MYPY = """[mypy]
strict = true
mypy_path = {links}
explicit_package_bases = true
namespace_packages = true
follow_imports = silent
hide_error_context = true
[mypy-apscheduler.*]
ignore_missing_imports = true
"""


def expected(mark: str) -> dict[int, str]:
    """What a checker has to say, by line."""
    lines = enumerate(USES.splitlines(), start=1)
    found = {number: re.search(rf"# {mark}: (.*?)(?: # [MP]: |$)", line) for number, line in lines}
    return {number: match[1] for number, match in found.items() if match}


def by_line(output: str) -> dict[int, str]:
    """What a checker said, by line; pyright goes on with its reasons on further ones."""
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


@pytest.mark.packaging
@pytest.mark.parametrize("mark", CHECKERS)
def test_good_uses_pass_and_wrong_ones_are_refused_with_their_reason(mark: str, tmp_path: Path) -> None:
    (tmp_path / "uses.py").write_text(USES)
    links = str(ROOT / ".links")
    (tmp_path / "mypy.ini").write_text(MYPY.format(links=links))
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", "extraPaths": [links]}))
    ended = subprocess.run(CHECKERS[mark], cwd=tmp_path, capture_output=True, text=True, check=False)
    said, wanted = by_line(ended.stdout), expected(mark)
    assert len(wanted) == 13
    assert {number: words for number, words in said.items() if number not in wanted} == {}
    missed = {number: said.get(number) for number, words in wanted.items() if words not in said.get(number, "")}
    assert missed == {}
