"""What a command would do: ``--dry-run``."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer

from .api import Api

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Change nothing; say what would become of it, and which limits it would meet.")
]
LINES: Final = 20
"""Sentences that are shown; runs with the same one share a line."""


def tell(api: Api, payload: dict[str, Any], **more: object) -> None:
    """Answer the preview of a payload, and what else is given."""
    preview = payload["preview"]
    api.result({**more, "preview": preview}, "\n".join([preview["sentence"], *_lines(preview)]))


def _lines(preview: dict[str, Any]) -> Iterator[str]:
    said = Counter(" ".join(_sentences(run)) for run in preview["runs"])
    for text, count in list(said.items())[:LINES]:
        yield f"  {f'{count} x ' if count > 1 else ''}{text}"
    if len(said) > LINES:
        yield f"  and {len(said) - LINES} more"
    if preview["droppedIds"]:
        yield f"  skipped to make room: {', '.join(preview['droppedIds'][:LINES])}"


def _sentences(run: dict[str, Any]) -> Iterator[str]:
    yield run["sentence"]
    if run["explanation"] is not None:
        yield run["explanation"]["sentence"]
        yield from run["explanation"]["details"]
