"""Functions, classes and their members as pages show them: with the types as the source has them."""

import ast
import inspect
import re
import textwrap
import typing
from collections.abc import Iterator
from typing import Any

_ANSWERED = re.compile(r"Operation\[(.*)\]")
_MODULES = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")
_FOLLOWED = re.compile(r"Subscription\[(.*)\]")


def signature_text(name: str, function: Any) -> str:
    """``name(argument: type = default) -> type``; of an operation of the client, what its method gives.

    One line for each way to call it.
    """
    return "\n".join(_signature(name, one) for one in typing.get_overloads(function) or [function])


def _signature(name: str, function: Any) -> str:
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    every = [*node.args.posonlyargs, *node.args.args]
    if every and every[0].arg in {"self", "cls"}:
        (node.args.posonlyargs or node.args.args).pop(0)
    result = "" if node.returns is None else f" -> {_given(ast.unparse(node.returns))}"
    before = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{before}{name}({', '.join(_arguments(node.args))}){result}"


def _arguments(given: ast.arguments) -> Iterator[str]:
    named = [*given.posonlyargs, *given.args]
    defaults = [*[None] * (len(named) - len(given.defaults)), *given.defaults]
    for place, (one, default) in enumerate(zip(named, defaults, strict=True), 1):
        yield _argument(one, default)
        if place == len(given.posonlyargs):
            yield "/"
    if given.vararg is not None:
        yield f"*{_argument(given.vararg, None)}"
    elif given.kwonlyargs:
        yield "*"
    yield from (_argument(one, default) for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True))
    if given.kwarg is not None:
        yield f"**{_argument(given.kwarg, None)}"


def _argument(one: ast.arg, default: ast.expr | None) -> str:
    kind = "" if one.annotation is None else f": {plain_type(ast.unparse(one.annotation))}"
    return f"{one.arg}{kind}" if default is None else f"{one.arg}{kind} = {ast.unparse(default)}"


def plain_type(text: str) -> str:
    """An annotation without modules and quotes."""
    return _MODULES.sub("", text).strip("'")


def section(heading: str, shown: str, documented: object) -> Iterator[str]:
    """The lines about one name."""
    yield f"{heading}\n```text\n{shown}\n\n{inspect.cleandoc(inspect.getdoc(documented) or '')}\n```\n"


def members(owner: type[Any], *inherited: type[Any]) -> Iterator[tuple[str, str, object]]:
    """The public methods and properties of a class: name, how it is written, and what has its docstring.

    Args:
        owner: The class.
        inherited: Those of its bases that have no place of their own.
    """
    for name, member in [pair for kind in (owner, *inherited) for pair in vars(kind).items()]:
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            assert member.fget is not None
            shown = signature_text(f"{owner.__name__}.{name}", member.fget)
            yield name, shown.replace("()", "", 1).replace(" -> ", ": ", 1), member
        elif inspect.isfunction(member):
            yield name, signature_text(f"{owner.__name__}.{name}", member), member


def _given(returned: str) -> str:
    returned = plain_type(returned)
    answered, followed = _ANSWERED.fullmatch(returned), _FOLLOWED.fullmatch(returned)
    if followed is not None:
        return f"Generator[{followed[1]}]"
    return returned if answered is None else answered[1]
