"""PEP 517 build backend: setuptools, with the dashboard built into `server/static/` first.

The dashboard is built again only when a hash of its inputs changed, so that a second installation is quick, and an
sdist, which carries the built assets, needs no Node. `CRONOGRAPH_SKIP_WEB=1` leaves the assets as they are: without
any, the server answers 503 at `/` and says how to build them. The reasons are in `docs/decisions/0001-packaging.md`.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import prepare_metadata_for_build_editable, prepare_metadata_for_build_wheel

from node_tools import NODE_PACKAGE, Node, NodeError, find_node, install, run_script, system_node

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = Mapping[str, str | list[str] | None] | None

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
STATIC = ROOT / "server" / "static"
STAMP = STATIC / "inputs.sha256"
"""The hash of the inputs that the assets next to it were built from; part of the sdist and of the wheel."""

COMMIT = ROOT / "server" / "commit.txt"
"""The commit that was built; part of the sdist and of the wheel."""

SKIP_VARIABLE = "CRONOGRAPH_SKIP_WEB"
INPUT_PATTERNS = ("src/**/*", "public/**/*", "*.html", "*.ts", "*.js", "*.json", ".npmrc")
"""What the build reads, relative to `web/`."""

SCHEMA = ROOT / "graphql" / "schema.graphql"
DOCUMENTS = ROOT / "graphql" / "client" / "webhook_documents.json"
"""The dashboard's types are derived from it."""

NOT_INPUTS = (".test.ts", ".test.tsx")


def input_files() -> Iterator[tuple[str, Path]]:
    """The files that the built dashboard depends on, each with its name, in a fixed order."""
    found = {path for pattern in INPUT_PATTERNS for path in WEB.glob(pattern) if path.is_file()}
    for path in sorted(found):
        if not path.name.endswith(NOT_INPUTS):
            yield path.relative_to(ROOT).as_posix(), path
    for path in (SCHEMA, DOCUMENTS):
        if path.exists():
            yield path.relative_to(ROOT).as_posix(), path


def input_hash() -> str:
    """One hash over the names and contents of all inputs; line ends do not count."""
    digest = hashlib.sha256()
    for name, path in input_files():
        content = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def skipped() -> bool:
    """Whether the environment asks to leave the dashboard alone."""
    return os.environ.get(SKIP_VARIABLE, "").lower() in {"1", "true", "yes"}


def up_to_date() -> bool:
    """Whether the built assets belong to the present inputs."""
    return STAMP.exists() and STAMP.read_text().strip() == input_hash()


def build_assets(node: Node) -> None:
    """Build the dashboard; the stamp goes first and comes last, so that a build cut short is never taken for whole."""
    STAMP.unlink(missing_ok=True)
    wanted = input_hash()
    install(node, development=False)
    run_script(node, "build")
    STAMP.write_text(wanted + "\n")


def ensure_assets() -> None:
    """Build the dashboard when its inputs changed; ends the process with one line when that cannot be done."""
    if skipped() or up_to_date():
        return
    print("cronograph: building the dashboard", file=sys.stderr)
    try:
        build_assets(find_node())
    except NodeError as error:
        sys.exit(f"cronograph: cannot build the dashboard: {error} ({SKIP_VARIABLE}=1 installs without it)")


def note_commit() -> None:
    """Write down the commit of this checkout; an sdist, which is no checkout, brings that of its own build."""
    if not (ROOT / ".git").exists():
        return
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        asked = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
        found = subprocess.run(asked, capture_output=True, text=True, check=True)
        COMMIT.write_text(found.stdout)


def prepare() -> None:
    """What precedes every build: fresh assets, the commit, and no leftovers of modules that have been removed since."""
    ensure_assets()
    note_commit()
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)


def node_requirement() -> list[str]:
    """The PyPI package with Node, when a build is due and the system has no usable Node."""
    if skipped() or up_to_date() or system_node():
        return []
    return [NODE_PACKAGE]


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """What must be installed before `build_wheel` (PEP 517)."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *node_requirement()]


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    """What must be installed before `build_sdist` (PEP 517)."""
    return [*build_meta.get_requires_for_build_sdist(config_settings), *node_requirement()]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """What must be installed before `build_editable` (PEP 660)."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *node_requirement()]


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """Build a wheel with the dashboard in it, and return its file name (PEP 517)."""
    prepare()
    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Build a source archive that carries the built dashboard, and return its file name (PEP 517)."""
    prepare()
    return build_meta.build_sdist(sdist_directory, config_settings)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build an editable installation; the dashboard is built in place, where the server looks for it (PEP 660)."""
    prepare()
    return build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
