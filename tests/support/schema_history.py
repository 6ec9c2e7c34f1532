"""How the API's schema changed since it was last committed: what of it breaks clients."""

import subprocess
from collections.abc import Iterator

from graphql import build_schema, find_breaking_changes
from tests.support.sources import ROOT

SDL = ROOT / "graphql" / "schema.graphql"
ACKNOWLEDGED = ROOT / "docs" / "api-breaking-changes.md"
"""The page that lists every breaking change; naming one there is how it is accepted."""


def breaking_changes(old: str, new: str) -> list[str]:
    """What clients written for one schema cannot do with the other, one sentence each."""
    return [change.description for change in find_breaking_changes(build_schema(old), build_schema(new))]


def unacknowledged(changes: list[str], page: str) -> list[str]:
    """Those changes that the page does not list."""
    listed = {line.removeprefix("- ").strip() for line in page.splitlines() if line.startswith("- ")}
    return [change for change in changes if change not in listed]


def committed_texts() -> Iterator[str]:
    """The committed texts of the schema, newest first; none outside of a clone."""
    path = SDL.relative_to(ROOT).as_posix()
    for commit in _git("log", "--format=%H", "--", path).split():
        yield _git("show", f"{commit}:{path}")


def last_committed(now: str) -> str:
    """The newest committed text that differs from the present one; the present one if there is none."""
    return next((text for text in committed_texts() if text and text != now), now)


def _git(*arguments: str) -> str:
    """What git prints; nothing where there is no git or no repository, as in an unpacked sdist."""
    try:
        answer = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return answer.stdout if answer.returncode == 0 else ""
