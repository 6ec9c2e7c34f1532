"""The code blocks of the documents: where each stands, and whether it says that it cannot be run by itself."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.sources import ROOT

_BLOCK = re.compile(
    r"^```(?P<language>\w*)(?: no-run=\"(?P<reason>[^\"]+)\")?[ \t]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
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
        text: What stands between the fences.
    """

    document: str
    line: int
    language: str
    reason: str | None
    text: str

    @property
    def place(self) -> str:
        """For messages, and as the file name of compiled code."""
        return f"{self.document}:{self.line}"


def documents() -> list[Path]:
    """README and every document but the decisions and what is made by `make schema`."""
    generated = {"api-reference.md", "codes.md", "cli-reference.md", "client-reference.md"}
    found = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.name not in generated]
    return [ROOT / "README.md", *(path for path in found if "decisions" not in path.parts)]


def blocks_of(path: Path) -> Iterator[Block]:
    """The blocks of a document, in order."""
    text = path.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("text")) + 1
        name = path.relative_to(ROOT).as_posix()
        yield Block(name, line, match["language"], match["reason"], match["text"])


def all_blocks() -> list[Block]:
    """The blocks of all documents."""
    return [block for path in documents() for block in blocks_of(path)]
