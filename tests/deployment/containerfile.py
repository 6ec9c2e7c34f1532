"""Reads a container file: what each line does, in its order."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from tests.support.sources import ROOT

FOLDER = ROOT / "docs" / "deployment"
_LINE = re.compile(r"([A-Z]+) +(.*)")


@dataclass(frozen=True)
class Line:
    """An instruction and what follows it."""

    instruction: str
    rest: str

    @property
    def words(self) -> list[str]:
        """Return what follows, as the words of a command."""
        found = self.rest if self.rest.startswith("[") else "[" + self.rest.partition("[")[2]
        words: list[str] = json.loads(found)
        return words


def read(path: Path = FOLDER / "Containerfile") -> list[Line]:
    """The instructions; raises `ValueError` where a line is none."""
    found: list[Line] = []
    for text in path.read_text(encoding="utf-8").splitlines():
        if text.strip() and not text.startswith("#"):
            match = _LINE.fullmatch(text)
            if match is None:
                raise ValueError(f"{path.name}: must be an instruction, got {text!r}")
            found.append(Line(match[1], match[2]))
    return found


def environment(lines: list[Line]) -> dict[str, str]:
    """Return what `ENV` sets."""
    pairs = (pair.split("=", 1) for line in lines if line.instruction == "ENV" for pair in line.rest.split())
    return {pair[0]: pair[1] for pair in pairs}
