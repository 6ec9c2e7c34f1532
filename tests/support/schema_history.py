"""What of the changes of the API's schema since the last release breaks clients."""

import subprocess
import sys
from pathlib import Path

from graphql import build_schema, find_breaking_changes
from tests.support.sources import ROOT

SDL = ROOT / "graphql" / "schema.graphql"
ACKNOWLEDGED = ROOT / "CHANGELOG.md"
"""Lists every breaking change; naming one there is how it is accepted."""


def breaking_changes(old: str, new: str) -> list[str]:
    """Return what clients written for one schema cannot do with the other, one sentence each."""
    return [change.description for change in find_breaking_changes(build_schema(old), build_schema(new))]


def unacknowledged(changes: list[str], page: str) -> list[str]:
    """Those changes that the page does not list."""
    listed = {line.removeprefix("- ").strip() for line in page.splitlines() if line.startswith("- ")}
    return [change for change in changes if change not in listed]


def last_tag(root: Path = ROOT) -> str | None:
    """Return the tag of the newest release; None if there is no release, or no git to ask."""
    return _git(root, "describe", "--tags", "--abbrev=0", "--match", "v*").strip() or None


def released(tag: str, root: Path = ROOT) -> str:
    """Return the schema of a release."""
    return _git(root, "show", f"{tag}:{SDL.relative_to(ROOT).as_posix()}")


def comparison(root: Path = ROOT) -> tuple[str, list[str]]:
    """Return a sentence about the comparison with the last release, and the breaking changes that no page lists."""
    tag = last_tag(root)
    if tag is None:
        return "There is no release yet: nothing to compare the schema with.", []
    now = (root / SDL.relative_to(ROOT)).read_text(encoding="utf-8")
    page = (root / ACKNOWLEDGED.relative_to(ROOT)).read_text(encoding="utf-8")
    changes = breaking_changes(released(tag, root), now)
    return f"Breaking changes of the schema since {tag}: {len(changes)}.", unacknowledged(changes, page)


def _git(root: Path, *arguments: str) -> str:
    """Return what git prints; nothing where there is no git or no repository, as in an unpacked sdist."""
    try:
        answer = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return answer.stdout if answer.returncode == 0 else ""


if __name__ == "__main__":
    said, unlisted = comparison()
    sys.stdout.write("\n".join([said, *unlisted]) + "\n")
    sys.exit(1 if unlisted else 0)
