"""What `make release VERSION=1.2.3` does: everything that a release needs, in a copy; `WRITE=1` does it here.

The version stands in `pyproject.toml` and nowhere else. Nothing is sent anywhere.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION_LINE = re.compile(r'^version = "([^"]+)"$', re.MULTILINE)
UNRELEASED = "## Unreleased\n"
FORM = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")


class ReleaseError(Exception):
    """Why there is no release, in one sentence."""


def parts(version: str) -> tuple[int, ...]:
    """The three numbers of a version; raises `ReleaseError`."""
    if not FORM.fullmatch(version):
        raise ReleaseError(f"VERSION: must be three numbers like 1.2.3, got '{version}'")
    return tuple(map(int, version.split(".")))


def with_version(project: str, version: str) -> str:
    """`pyproject.toml` with a version that is not behind the one that it had; raises `ReleaseError`."""
    found = VERSION_LINE.search(project)
    if found is None:
        raise ReleaseError('pyproject.toml: must hold one line `version = "…"`, got none')
    if parts(version) < parts(found[1]):
        raise ReleaseError(f"VERSION: must not be before {found[1]} of pyproject.toml, got '{version}'")
    return VERSION_LINE.sub(f'version = "{version}"', project, count=1)


def with_section(changelog: str, version: str, day: date) -> str:
    """The changelog, with what was unreleased under the version and its day; raises `ReleaseError`."""
    if f"\n## {version}" in changelog:
        raise ReleaseError(f"CHANGELOG.md: has a section {version} already; choose the next version")
    before, heading, after = changelog.partition(UNRELEASED)
    if not heading or not after.partition("\n## ")[0].strip():
        raise ReleaseError("CHANGELOG.md: must say what changes under `## Unreleased`, got nothing; write it first")
    return f"{before}{UNRELEASED}\n## {version} - {day.isoformat()}\n{after}"


def prepare(folder: Path, version: str, day: date) -> None:
    """Write version and changelog of a checkout; nothing is written if either cannot be."""
    project, changelog = folder / "pyproject.toml", folder / "CHANGELOG.md"
    texts = with_version(project.read_text(), version), with_section(changelog.read_text(), version, day)
    project.write_text(texts[0])
    changelog.write_text(texts[1])


def run(*command: str | Path, cwd: Path) -> str:
    """What a command printed; raises `ReleaseError` with it if the command failed."""
    ended = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise ReleaseError(f"{command[0]}: ended with status {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def build(folder: Path, target: Path) -> list[Path]:
    """Build the sdist and, from it, the wheel."""
    run(sys.executable, "-m", "build", "--outdir", target, folder, cwd=folder)
    return sorted(target.iterdir())


def check(wheel: Path, version: str, folder: Path) -> None:
    """Install the wheel with its libraries into a new environment, and see that it says its version."""
    environment = folder / "environment"
    venv.create(environment, with_pip=True)
    run(environment / "bin" / "python", "-m", "pip", "install", "--quiet", f"{wheel}[server]", cwd=folder)
    said = run(environment / "bin" / "cronograph", "version", cwd=folder)
    if version not in said.split():
        raise ReleaseError(f"{wheel.name}: must say version {version}, got '{said.strip()}'")


def release(version: str, *, write: bool) -> None:
    """Build and check a release in a copy; perhaps write, commit and tag it here. Raises `ReleaseError`."""
    parts(version)
    today = datetime.now(UTC).date()
    if run("git", "status", "--porcelain", cwd=ROOT):
        raise ReleaseError("the checkout: must have no changes, got some (`git status`); commit them first")
    with tempfile.TemporaryDirectory(prefix="cronograph-release-") as made:
        folder, copy = Path(made), Path(made) / "copy"
        run("git", "clone", "--quiet", ROOT, copy, cwd=folder)
        prepare(copy, version, today)
        files = build(copy, folder / "dist")
        check(next(file for file in files if file.suffix == ".whl"), version, folder)
        print(*(f"{file.name}: {file.stat().st_size:,} bytes, checked" for file in files), sep="\n")
        if write:
            prepare(ROOT, version, today)
            run("git", "commit", "--quiet", "--all", "--message", f"Release {version}", cwd=ROOT)
            run("git", "tag", "--annotate", f"v{version}", "--message", f"Cronograph {version}", cwd=ROOT)
            kept = ROOT / "dist"
            kept.mkdir(exist_ok=True)
            for file in files:
                shutil.move(file, kept / file.name)


def main(arguments: Sequence[str]) -> int:
    """Release the version that is named, in a copy unless `--write` is there; the exit status."""
    write, (version, *_) = "--write" in arguments, [*(one for one in arguments if one != "--write"), ""]
    try:
        release(version, write=write)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"committed and tagged v{version}; dist/ holds it" if write else "nothing was written; WRITE=1 does it")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
