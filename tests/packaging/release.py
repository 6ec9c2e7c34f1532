"""What `make release VERSION=1.2.3` does: everything that a release needs, in a copy; `WRITE=1` does it here.

The version stands in `pyproject.toml` and nowhere else. Nothing is sent anywhere.
"""

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from hashlib import sha256
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
    """Return what a command printed; raises `ReleaseError` with it if the command failed."""
    ended = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise ReleaseError(f"{command[0]}: ended with status {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


@contextmanager
def step(says: str) -> Generator[None]:
    """Say what is being done, and how long it took."""
    print(f"{says} …", end=" ", flush=True)
    began = time.monotonic()
    try:
        yield
    except BaseException:
        print("no")
        raise
    print(f"{time.monotonic() - began:.0f} s", flush=True)


def uv() -> Path | None:
    """The uv of this environment, which installs in a sixth of pip's time; None = pip does it."""
    found = Path(sys.executable).with_name("uv")
    return found if found.exists() else None


def build(folder: Path, target: Path) -> list[Path]:
    """Build the sdist and, from it, the wheel; of the same commit always the same bytes."""
    moment = int(run("git", "log", "-1", "--format=%ct", cwd=folder))
    # What the wheel is packed with takes its times from there.
    words: list[str | Path] = ["env", f"SOURCE_DATE_EPOCH={moment}"]
    installer = uv()
    if installer is not None:
        words.append(f"PATH={installer.parent}{os.pathsep}{os.environ['PATH']}")
    words += [sys.executable, "-m", "build", "--outdir", target]
    with step("building the sdist and, from it, the wheel with the dashboard"):
        run(*words, *(("--installer", "uv") if installer is not None else ()), folder, cwd=folder)
    for sdist in target.glob("*.tar.gz"):
        pack_again(sdist, moment)
    return sorted(target.iterdir())


def pack_again(sdist: Path, moment: int) -> None:
    """Pack an sdist so that neither the clock nor the owner of the files can be told from it."""
    with tarfile.open(sdist) as archive:
        members = sorted(archive.getmembers(), key=lambda member: member.name)
        held = {member.name: file.read() for member in members if (file := archive.extractfile(member)) is not None}
    with (
        sdist.open("wb") as out,
        gzip.GzipFile("", "wb", fileobj=out, mtime=moment) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for member in members:
            member.mtime, member.uid, member.gid, member.uname, member.gname = moment, 0, 0, "", ""
            member.pax_headers = {}
            archive.addfile(member, io.BytesIO(held[member.name]) if member.name in held else None)


def bill_of_materials(files: Sequence[Path], version: str, libraries: Sequence[tuple[str, str]]) -> str:
    """Return what the release consists of, and with which libraries it was tried, as CycloneDX."""
    product = {
        "type": "application",
        "name": "cronograph",
        "version": version,
        "purl": f"pkg:pypi/cronograph@{version}",
    }
    hashes = [
        {
            "type": "file",
            "name": file.name,
            "hashes": [{"alg": "SHA-256", "content": sha256(file.read_bytes()).hexdigest()}],
        }
        for file in files
    ]
    return json.dumps(
        {
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {"component": {**product, "components": hashes}},
            "components": [
                {"type": "library", "name": name, "version": one, "purl": f"pkg:pypi/{name}@{one}"}
                for name, one in sorted(libraries)
            ],
        },
        indent=2,
    )


def libraries_of(environment: Path) -> list[tuple[str, str]]:
    """The libraries that an environment has, besides ours and pip, by name and version."""
    listed = run(environment / "bin" / "python", "-m", "pip", "list", "--format", "json", cwd=environment)
    found = ((str(one["name"]).lower(), str(one["version"])) for one in json.loads(listed))
    return [one for one in found if one[0] not in {"cronograph", "pip", "setuptools"}]


def check(wheel: Path, version: str, folder: Path) -> None:
    """Install the wheel with its libraries into a new environment, and see that it says its version."""
    environment = folder / "environment"
    installer = uv()
    with step("installing the wheel into a new environment"):
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        words = ("-m", "pip", "install") if installer is None else ("pip", "install", "--python", python)
        run(python if installer is None else installer, *words, "--quiet", f"{wheel}[server]", cwd=folder)
    said = run(environment / "bin" / "cronograph", "version", cwd=folder)
    if version not in said.split():
        raise ReleaseError(f"{wheel.name}: must say version {version}, got '{said.strip()}'")


def keep(files: Sequence[Path]) -> None:
    """Move them to `dist`."""
    kept = ROOT / "dist"
    kept.mkdir(exist_ok=True)
    for file in files:
        shutil.move(file, kept / file.name)


def check_tagged(folder: Path, version: str) -> None:
    """Refuse a checkout that is not the one that was tagged as this version; raises `ReleaseError`."""
    found = VERSION_LINE.search((folder / "pyproject.toml").read_text())
    if found is None or found[1] != version:
        raise ReleaseError(f"pyproject.toml: must have the version {version} of the tag, got {found and found[1]}")
    if f"\n## {version} - " not in (folder / "CHANGELOG.md").read_text():
        raise ReleaseError(f"CHANGELOG.md: must have a section {version}, got none; tag by `make release … WRITE=1`")


def release(version: str, *, write: bool, tagged: bool = False) -> None:
    """Build and check a release in a copy. Raises `ReleaseError`.

    Args:
        version: Which.
        write: Write, commit and tag it here, too, and keep what was built in `dist`.
        tagged: The checkout is the tagged one already; what was built is kept in `dist`.
    """
    parts(version)
    today = datetime.now(UTC).date()
    if run("git", "status", "--porcelain", cwd=ROOT):
        raise ReleaseError("the checkout: must have no changes, got some (`git status`); commit them first")
    with tempfile.TemporaryDirectory(prefix="cronograph-release-") as made:
        folder, copy = Path(made), Path(made) / "copy"
        with step("copying the checkout"):
            run("git", "clone", "--quiet", ROOT, copy, cwd=folder)
        if tagged:
            check_tagged(copy, version)
        else:
            prepare(copy, version, today)
        files = build(copy, folder / "dist")
        check(next(file for file in files if file.suffix == ".whl"), version, folder)
        bill = folder / "dist" / f"cronograph-{version}.cdx.json"
        bill.write_text(bill_of_materials(files, version, libraries_of(folder / "environment")))
        files.append(bill)
        print(*(f"{file.name}: {file.stat().st_size:,} bytes, checked" for file in files), sep="\n")
        if write or tagged:
            keep(files)
        if write:
            prepare(ROOT, version, today)
            run("git", "commit", "--quiet", "--all", "--message", f"Release {version}", cwd=ROOT)
            run("git", "tag", "--annotate", f"v{version}", "--message", f"Cronograph {version}", cwd=ROOT)


def main(arguments: Sequence[str]) -> int:
    """Release the version that is named, in a copy unless `--write` or `--tagged` is there; the exit status."""
    write, tagged = "--write" in arguments, "--tagged" in arguments
    (version, *_) = [*(one for one in arguments if not one.startswith("--")), ""]
    try:
        release(version, write=write, tagged=tagged)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    if tagged:
        print("dist/ holds it")
    else:
        print(f"committed and tagged v{version}; dist/ holds it" if write else "nothing was written; WRITE=1 does it")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
