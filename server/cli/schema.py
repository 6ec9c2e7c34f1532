"""``cronograph schema``: the GraphQL schema as text."""

from difflib import unified_diff
from pathlib import Path
from typing import Annotated

import typer

from ...graphql import schema as schema_module
from .base.output import Output, Refused, answering

KEPT = Path(schema_module.__file__).with_name("schema.graphql")
"""The text of the schema that is kept with the code."""


@answering
def schema(
    output: Output,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with the text kept with the code; status 1 when they differ.")
    ] = False,
) -> None:
    """Print the GraphQL schema of this version (SDL), or check that the kept text is up to date."""
    text = schema_module.shared_schema().sdl.rstrip("\n")
    if not check:
        output.result({"ok": True, "schema": text}, text)
        return
    difference = _difference(text)
    if difference:
        raise Refused(f"graphql/{KEPT.name}: must be what the code says; write it with `make schema`.\n{difference}")
    output.result({"ok": True}, f"graphql/{KEPT.name} is up to date")


def _difference(text: str) -> str:
    before = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.is_file() else []
    lines = list(unified_diff(before, text.splitlines(), f"graphql/{KEPT.name}", "the code", lineterm=""))
    more = f"\n… {len(lines) - 40} more lines" if len(lines) > 40 else ""
    return "\n".join(lines[:40]) + more
