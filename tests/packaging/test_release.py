"""`make release`: the version, the changelog, and what is refused before anything is written."""

from datetime import date
from pathlib import Path

import pytest

from tests.packaging.release import ROOT, ReleaseError, main, prepare, with_section, with_version

DAY = date(2026, 3, 1)
PROJECT = '[project]\nname = "cronograph"\nversion = "0.1.0"\n'
CHANGELOG = "# Changelog\n\n## Unreleased\nMore.\n\n## 0.0.9 - 2026-01-01\nThe first.\n"


def test_the_version_stands_in_one_place() -> None:
    assert 'version = "0.2.0"' in with_version((ROOT / "pyproject.toml").read_text(), "0.2.0")


@pytest.mark.parametrize(
    ("version", "said"), [("0.2", "three numbers"), ("v1.0.0", "three numbers"), ("0.0.9", "not be before 0.1.0")]
)
def test_a_version_that_cannot_be_is_refused(version: str, said: str) -> None:
    with pytest.raises(ReleaseError, match=said):
        with_version(PROJECT, version)


def test_a_project_without_a_version_is_refused() -> None:
    with pytest.raises(ReleaseError, match="got none"):
        with_version("[project]\n", "0.2.0")


def test_what_was_unreleased_gets_the_version_and_its_day() -> None:
    wanted = CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n## 0.2.0 - 2026-03-01\n")
    assert with_section(CHANGELOG, "0.2.0", DAY) == wanted


@pytest.mark.parametrize(
    "changelog", ["# Changelog\n", "# Changelog\n\n## Unreleased\n\n## 0.0.9 - 2026-01-01\nMore.\n"]
)
def test_a_changelog_that_says_nothing_is_refused(changelog: str) -> None:
    with pytest.raises(ReleaseError, match="write it first"):
        with_section(changelog, "0.2.0", DAY)


def test_a_version_that_was_released_is_refused() -> None:
    with pytest.raises(ReleaseError, match="has a section"):
        with_section(CHANGELOG, "0.0.9", DAY)


def test_nothing_is_written_when_one_of_both_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n")
    with pytest.raises(ReleaseError):
        prepare(tmp_path, "0.2.0", DAY)
    assert (tmp_path / "pyproject.toml").read_text() == PROJECT


def test_the_command_says_in_one_line_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert capsys.readouterr().err == "VERSION: must be three numbers like 1.2.3, got ''\n"
