"""Writes `docs/cli-reference.md`: every command with its arguments and options, as `--help` says them.

`python -m tests.generation.cli_reference > docs/cli-reference.md`; `make schema` does, and a test compares.
"""

import sys
from collections.abc import Iterator
from typing import Any

import typer

from cronograph.server.cli import EXIT_CODES, HELP, application

HEAD = """# The command line
Made from the commands themselves; `cronograph COMMAND --help` says the same.

"""


def reference() -> str:
    """The whole page."""
    group: Any = typer.main.get_command(application())
    commands = "\n".join(part for name, command in _commands("cronograph", group) for part in _section(name, command))
    intro = HELP.strip().replace("\n\n", "\n\n")
    return f"{HEAD}{intro}\n\n{EXIT_CODES}\n\n{commands}"


def _commands(name: str, group: Any) -> Iterator[tuple[str, Any]]:
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(f"{name} {word}", command)
        else:
            yield f"{name} {word}", command


def _section(name: str, command: Any) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    words = " ".join([name, *(f"[{one.name.upper()}]" if not one.required else one.name.upper() for one in arguments)])
    yield f"## `{name}`"
    yield f"`{words}`\n"
    yield f"{(command.help or '').strip()}\n"
    rows = [row for one in command.params if (row := _row(one)) is not None]
    if rows:
        yield "| argument or option | says |"
        yield "|---|---|"
        yield from rows
        yield ""


def _row(parameter: Any) -> str | None:
    if getattr(parameter, "hidden", False) or parameter.name == "help":
        return None
    help_text = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
    names = ", ".join(f"`{one}`" for one in parameter.opts) if parameter.opts else ""
    name = f"`{parameter.name.upper()}`" if parameter.param_type_name == "argument" else names
    return f"| {name} | {help_text} |"


if __name__ == "__main__":
    sys.stdout.write(reference())
