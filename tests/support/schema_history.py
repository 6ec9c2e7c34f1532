"""What of the changes of the API's schema since the last release breaks clients."""

import subprocess

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


def last_released(now: str) -> str:
    """Return the schema of the newest release; the present one if there is no release, or no git to ask."""
    tag = _git("describe", "--tags", "--abbrev=0", "--match", "v*").strip()
    return (tag and _git("show", f"{tag}:{SDL.relative_to(ROOT).as_posix()}")) or now


def _git(*arguments: str) -> str:
    """Return what git prints; nothing where there is no git or no repository, as in an unpacked sdist."""
    try:
        answer = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return answer.stdout if answer.returncode == 0 else ""
