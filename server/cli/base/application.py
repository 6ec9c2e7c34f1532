"""The command line as typer makes it, with one difference: help names no type for a flag that takes no value."""

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption


def _without_types(params: list[Any]) -> list[Any]:
    for one in params:
        if isinstance(one, TyperOption) and one.is_flag and one.metavar is None:
            one.metavar = ""
    return params


class PlainCommand(TyperCommand):
    """A command whose flags are shown without ``<bool>``."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - typer's own copy of click has no public name
        """Its options and arguments."""
        return _without_types(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """Commands, and flags that are shown without ``<bool>``."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - see above
        """Its options and arguments."""
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
