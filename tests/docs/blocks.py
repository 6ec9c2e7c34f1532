"""The code blocks of the documents: where each stands, and which test runs it, or why none does."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.sources import ROOT

_BLOCK = re.compile(
    r"^```(?P<language>\w*)(?: no-run=\"(?P<reason>[^\"]+)\"| run-by=\"(?P<test>[^\"]+)\")?[ \t]*\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
FENCE = re.compile(r"^```", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A code block.

    Attributes:
        document: The path from the root.
        line: Where its text begins.
        language: The first word behind the fence.
        reason: Why it is not run; None = it is.
        test: The file of the test that runs it; None = those of this folder do.
        text: What stands between the fences.
    """

    document: str
    line: int
    language: str
    reason: str | None
    test: str | None
    text: str

    @property
    def runs_here(self) -> bool:
        """Return whether a test of this folder runs it among all others of its language."""
        return self.reason is None and self.test is None

    @property
    def place(self) -> str:
        """For messages, and as the file name of compiled code."""
        return f"{self.document}:{self.line}"


def documents() -> list[Path]:
    """README and every document but the decisions and what is made by `make schema`."""
    generated = {"api-reference.md", "codes.md", "cli-reference.md", "client-reference.md", "python-reference.md"}
    found = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.name not in generated]
    return [ROOT / "ABOUT.md", ROOT / "README.md", *(path for path in found if "decisions" not in path.parts)]


def blocks_of(path: Path) -> Iterator[Block]:
    """The blocks of a document, in order."""
    text = path.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("text")) + 1
        name = path.relative_to(ROOT).as_posix()
        yield Block(name, line, match["language"], match["reason"], match["test"], match["text"])


def all_blocks() -> list[Block]:
    """The blocks of all documents."""
    return [block for path in documents() for block in blocks_of(path)]
