"""The resources that a job asks for at an engine, and the name by which it asks for the executor."""

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from ..model import Json

EXECUTOR_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""The name of an executor, as ``isolation`` says it."""
_OPTION: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources that a run needs at its engine; an executor takes those that it knows.

    Attributes:
        cpus: Processor cores.
        memory: Bytes.
        gpus: Graphics processors.
        image: The container image that has the code.
        queue: The queue or partition of the engine.
        options: Further words of that executor.
    """

    cpus: float | None = None
    memory: int | None = None
    gpus: int | None = None
    image: str | None = None
    queue: str | None = None
    options: Mapping[str, str] = field(default_factory=dict[str, str])

    def document(self) -> dict[str, Json]:
        """The given ones by name."""
        return {name: value for name, value in asdict(self).items() if value not in (None, {})}

    def check(self) -> None:
        """Let resources pass that make sense.

        Raises:
            ValueError: names the one that does not.
        """
        for name in ("cpus", "memory", "gpus"):
            value = getattr(self, name)
            whole = name != "cpus"
            if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
                continue
            if whole or not isinstance(value, float) or not 0 < value < math.inf:
                raise ValueError(
                    f"resources: {name} must be a {'whole ' if whole else ''}number above 0, got {value!r:.60}"
                )
        texts = {"image": self.image, "queue": self.queue, **self.options}
        wrong = next((name for name, value in texts.items() if not _is_text(name, value)), None)
        if wrong is not None:
            raise ValueError(
                f"resources: {wrong!s:.60} must be a text without control characters, got {texts[wrong]!r:.60}"
            )


def _is_text(name: object, value: object) -> bool:
    if not isinstance(name, str) or not _OPTION.fullmatch(name):
        return False
    return (value is None and name in ("image", "queue")) or (isinstance(value, str) and value.isprintable())


NO_RESOURCES: Final = Resources()
