"""What a command is for, read from its module's text: to import all commands takes the server's second."""

import ast
from importlib.util import find_spec
from inspect import cleandoc
from pathlib import Path

from .application import PlainCommand


def unloaded(function: str, module: str, name: str) -> PlainCommand:
    """A command of which only the name and the help are known: enough for a list of commands, not to be run.

    Args:
        function: What it is called in its module.
        module: The full name of the module.
        name: The command.
    """
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return PlainCommand(name, help=_help_in(ast.parse(Path(spec.origin).read_bytes()), function))


def _help_in(module: ast.Module, name: str) -> str:
    """The docstring of the function of this name, or the ``help`` of the group that is assigned to it."""
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
