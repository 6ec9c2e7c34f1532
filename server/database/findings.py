"""What the doctor says: of each thing that was looked at, how it is and what to do."""

from dataclasses import asdict, dataclass
from enum import StrEnum


class Level(StrEnum):
    """How something is: as it should be, something to think about, or a problem of today."""

    OK = "ok"
    ADVICE = "advice"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One of them.

    Attributes:
        check: What was looked at, in one word.
        level: How it is.
        says: What was found.
        advice: What to do: a statement, a command or a setting; empty if nothing.
    """

    check: str
    level: Level
    says: str
    advice: str = ""

    def as_json(self) -> dict[str, str]:
        """For programs."""
        return {name: str(value) for name, value in asdict(self).items()}


def graded(check: str, value: float, advice_at: float, problem_at: float, says: str, advice: str) -> Finding:
    """A finding about a figure that is the worse the higher it is; good ones come without advice."""
    level = Level.PROBLEM if value >= problem_at else Level.ADVICE if value >= advice_at else Level.OK
    return Finding(check, level, says, advice if level is not Level.OK else "")


def size(count: float) -> str:
    """Bytes in words, e.g. ``3.4 GB``."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"
