"""`make release`: the version, the changelog, and what is refused before anything is written."""

import hashlib
import json
import os
import tarfile
from datetime import date
from pathlib import Path

import pytest
import yaml

from tests.packaging import release
from tests.packaging.release import ROOT, ReleaseError, check_tagged, main, prepare, with_section, with_version

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


def test_only_the_tagged_version_is_built_for_publishing(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    with pytest.raises(ReleaseError, match=r"must have the version 0\.2\.0 of the tag, got 0\.1\.0"):
        check_tagged(tmp_path, "0.2.0")
    with pytest.raises(ReleaseError, match=r"must have a section 0\.1\.0"):
        check_tagged(tmp_path, "0.1.0")
    prepare(tmp_path, "0.2.0", DAY)
    check_tagged(tmp_path, "0.2.0")


def test_what_publishes_may_sign_and_does_nothing_else() -> None:
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "publish.yml").read_text())
    jobs = flow["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})] == ["attest", "publish"]
    assert not any(
        "run" in step and "make" in step["run"] for name in ("attest", "publish") for step in jobs[name]["steps"]
    )
    assert (jobs["publish"]["needs"], jobs["attest"]["needs"]) == ("attest", "build")
    assert jobs["publish"]["environment"] == "pypi"
    commands = " ".join(step.get("run", "") for step in jobs["build"]["steps"])
    assert "make release" in commands
    assert "TAGGED=1" in commands
    assert "$(if $(TAGGED),--tagged)" in (ROOT / "Makefile").read_text()


def test_the_command_says_in_one_line_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert capsys.readouterr().err == "VERSION: must be three numbers like 1.2.3, got ''\n"


def test_an_sdist_of_the_same_files_has_the_same_bytes(tmp_path: Path) -> None:
    packed: list[bytes] = []
    for place in ("one", "two"):
        folder = tmp_path / place / "cronograph-1.2.3"
        (folder / "jobs").mkdir(parents=True)
        (folder / "PKG-INFO").write_text("Name: cronograph\n")
        (folder / "jobs" / "x.py").write_text("x = 1\n")
        (folder / "jobs" / "x.py").chmod(0o755)
        os.utime(folder / "PKG-INFO", (1.5 * len(packed), 1.5 * len(packed)))
        sdist = tmp_path / place / "cronograph-1.2.3.tar.gz"
        with tarfile.open(sdist, "w:gz") as archive:
            archive.add(folder, folder.name)
        release.pack_again(sdist, 1_900_000_000)
        packed.append(sdist.read_bytes())
    assert packed[0] == packed[1]
    with tarfile.open(tmp_path / "two" / "cronograph-1.2.3.tar.gz") as archive:
        held = {member.name: (member.mode & 0o777, member.mtime) for member in archive if member.isfile()}
        text = archive.extractfile("cronograph-1.2.3/jobs/x.py")
        assert text is not None
        assert text.read() == b"x = 1\n"
    assert held["cronograph-1.2.3/jobs/x.py"] == (0o755, 1_900_000_000)


def test_the_bill_of_materials_names_files_and_libraries(tmp_path: Path) -> None:
    wheel = tmp_path / "cronograph-1.2.3-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    bill = json.loads(release.bill_of_materials([wheel], "1.2.3", [("typer", "0.29.2"), ("anyio", "4.16.0")]))
    component = bill["metadata"]["component"]
    assert (component["version"], component["components"][0]["name"]) == ("1.2.3", wheel.name)
    assert component["components"][0]["hashes"][0]["content"] == hashlib.sha256(b"wheel").hexdigest()
    assert [one["purl"] for one in bill["components"]] == ["pkg:pypi/anyio@4.16.0", "pkg:pypi/typer@0.29.2"]
