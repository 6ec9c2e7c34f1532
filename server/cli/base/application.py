"""The command line as typer makes it, with one difference: help names no type for a flag that takes no value."""

import ast
from collections.abc import Callable
from importlib.util import find_spec
from inspect import cleandoc
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption


def _without_types(params: list[Any]) -> list[Any]:
    for one in params:
        if isinstance(one, TyperOption) and one.is_flag and one.metavar is None:
            one.metavar = ""
    return params


NARROW: Final = 70
"""Columns of a terminal below which the columns of Rich's tables of options would be cut."""
LEAST: Final = 30


def _fit(command: Any, formatter: Any) -> None:  # noqa: ANN401 - a command or a group, and the library's formatter
    """Let a command write its help as plain text of the terminal's width if tables have no room."""
    columns = get_terminal_size().columns
    if columns < NARROW:
        command.rich_markup_mode = None
        formatter.width = max(columns - 1, LEAST)


class PlainCommand(TyperCommand):
    """A command whose flags are shown without ``<bool>``, and whose help is whole in a narrow terminal, too."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own copy of click
        """Write its help."""
        _fit(self, formatter)
        super().format_help(ctx, formatter)

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - typer's own copy of click has no public name
        """Return its options and arguments."""
        return _without_types(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """Commands, and flags that are shown without ``<bool>``, as a ``PlainCommand`` shows them."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - see above
        """Write its help."""
        _fit(self, formatter)
        super().format_help(ctx, formatter)

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - see above
        """Return its options and arguments."""
        return _without_types(super().get_params(ctx))


class CommandLine(typer.Typer):
    """A group of such commands; the arguments are those of ``typer.Typer``."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - those of typer
        given: dict[str, Any] = {"cls": PlainGroup, **settings}
        super().__init__(**given)

    def command(  # type: ignore[override]
        self,
        name: str | None = None,
        **settings: Any,  # noqa: ANN401 - those of typer
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare a command."""
        given: dict[str, Any] = {"cls": PlainCommand, **settings}
        return super().command(name, **given)


def unloaded(function: str, module: str, name: str) -> PlainCommand:
    """Return a command of which only the name and the help are known: enough for a list of commands, not to be run.

    Args:
        function: Its name in its module.
        module: The full name of the module.
    """
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return PlainCommand(name, help=_help_in(ast.parse(Path(spec.origin).read_bytes()), function))


def _help_in(module: ast.Module, name: str) -> str:
    """Return the docstring of the function of this name, or the ``help`` of the group that is assigned to it."""
    for node in module.body:
        match node:
            case ast.FunctionDef() if node.name == name:
                return ast.get_docstring(node) or ""
            case ast.Assign(targets=[ast.Name(id=assigned)], value=ast.Call(keywords=keywords)) if assigned == name:
                given = {one.arg: ast.literal_eval(one.value) for one in keywords if one.arg == "help"}
                return cleandoc(given.get("help", ""))
            case _:
                pass
    raise LookupError(f"no command {name!r}")
