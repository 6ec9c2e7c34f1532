"""Prints the JSON Schema of what commands answer: `make schema` writes it to `docs/cli-answers.schema.json`."""

import json
import sys
from typing import Any

from cronograph.server.cli.answers.commands import FAILED, LINES, LOCAL, REMOTE
from cronograph.server.cli.answers.shapes import Shape


def published() -> Shape:
    """All of it: a definition for each command, and those that several share."""
    shared: dict[str, Shape] = {}
    commands = {name: _sharing(shape, shared) for name, shape in sorted({**LOCAL, **REMOTE, **LINES}.items())}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the commands of cronograph answer with --json",
        "description": (
            "One JSON object, for `$defs.COMMAND`; an error is `$defs.Error`. "
            f"JSON lines, each of this form: {', '.join(sorted(LINES))}."
        ),
        "$defs": {"Error": FAILED, **shared, **commands},
    }


def _sharing(shape: Any, shared: dict[str, Shape]) -> Any:
    """A shape in which things that have a name are references to one definition each."""
    if isinstance(shape, list):
        return [_sharing(one, shared) for one in shape]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(shape, dict):
        return shape
    own: Shape = {name: _sharing(part, shared) for name, part in shape.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    # An object may have a field of that name, too.
    if not isinstance(own.get("title"), str):
        return own
    name, number = own["title"], 1
    while shared.setdefault(name, own) != own:
        number += 1
        name = f"{own['title']}{number}"
    return {"$ref": f"#/$defs/{name}"}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(published(), indent=1) + "\n")
