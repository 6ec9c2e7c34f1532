"""``cronograph schema``: the GraphQL schema as text."""

from difflib import unified_diff
from importlib.resources import files
from typing import Annotated

import typer

from ...graphql.schema import create_schema
from .options import AsJson
from .output import Output, Refused

COMMITTED = "schema.graphql"
"""The text of the schema that is kept with the code, in the package ``cronograph.graphql``."""


def schema(
    check: Annotated[
        bool, typer.Option("--check", help="Compare with the text kept with the code; status 1 when they differ.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the GraphQL schema of this version (SDL), or check that the kept text is up to date."""
    output = Output(as_json=as_json)
    with output.errors():
        text = create_schema().as_str().rstrip("\n")
        if not check:
            output.result({"ok": True, "schema": text}, text)
            return
        difference = _difference(text)
        if difference:
            raise Refused(
                f"graphql/{COMMITTED}: must be what the code says; write it with `make schema`.\n{difference}"
            )
        output.result({"ok": True}, f"graphql/{COMMITTED} is up to date")


def _difference(text: str) -> str:
    kept = files("cronograph.graphql") / COMMITTED
    before = kept.read_text(encoding="utf-8").splitlines() if kept.is_file() else []
    lines = list(unified_diff(before, text.splitlines(), f"graphql/{COMMITTED}", "the code", lineterm=""))
    more = f"\n… {len(lines) - 40} more lines" if len(lines) > 40 else ""
    return "\n".join(lines[:40]) + more
