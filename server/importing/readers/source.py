"""Python sources, read without running them: constants, calls and names as far as they can be known."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final

from ..dialects.fields import DialectError

_BUILT: Final[Mapping[str, Callable[..., Any]]] = {
    "datetime.timedelta": timedelta,
    "datetime.datetime": datetime,
    "datetime.date": date,
    "datetime.time": time,
}
_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: lambda one, two: one + two,
    ast.Sub: lambda one, two: one - two,
    ast.Mult: lambda one, two: one * two,
    ast.FloorDiv: lambda one, two: one // two,
    ast.Div: lambda one, two: one / two,
}


_AT_ONCE: Final = (ast.Expr, ast.Assign, ast.AnnAssign)
"""Statements that are done as soon as their module is imported, and once."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that is no constant: a function, say.

    Attributes:
        name: Dotted, with the module it was imported from.
    """

    name: str

    @property
    def last(self) -> str:
        """Its last part."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Called:
    """A call that was not made."""

    function: Reference
    args: Sequence[Any]
    kwargs: Mapping[str, Any]


@dataclass
class Source:
    """A module.

    Attributes:
        path: Its file.
        module: Its dotted name, as the working directory has it.
        tree: Its code.
        names: What its names stand for: values, references and calls.
        parameters: The names of the parameters of its functions.
    """

    path: Path
    module: str
    tree: ast.Module
    text: str
    names: dict[str, Any] = field(default_factory=dict[str, Any])
    parameters: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @classmethod
    def of(cls, path: Path, text: str) -> "Source":
        """The module of a file.

        Raises:
            DialectError: it is no Python.
        """
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            raise DialectError(f"is no Python that can be read here: {error.msg}, line {error.lineno}") from None
        parts = [part for part in path.with_suffix("").parts if part not in (".", "..", "/")]
        module = ".".join(parts if not path.is_absolute() else parts[-1:]).removesuffix(".__init__")
        source = cls(path, module, tree, text)
        source._learn()
        return source

    def _learn(self) -> None:
        for node in self.tree.body:
            match node:
                case ast.Import(names=names):
                    for one in names:
                        self.names[one.asname or one.name.partition(".")[0]] = Reference(
                            one.name if one.asname else one.name.partition(".")[0]
                        )
                case ast.ImportFrom(module=module, names=names, level=level):
                    home = ".".join(filter(None, [self._package(level), module]))
                    for one in names:
                        self.names[one.asname or one.name] = Reference(f"{home}.{one.name}" if home else one.name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self.names[name] = Reference(f"{self.module}.{name}")
                    self.parameters[name] = [one.arg for one in node.args.args]
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    try:
                        self.names[name] = self.value(value)
                    except DialectError:
                        self.names[name] = Reference(f"{self.module}.{name}")
                case _:
                    """Something else: its calls are looked at where they stand."""

    def _package(self, level: int) -> str:
        return ".".join(self.module.split(".")[:-level]) if level else ""

    def place(self, node: ast.AST) -> str:
        """Where it is."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}"

    def shown(self, node: ast.AST) -> str:
        """Its text in one line."""
        return " ".join((ast.get_source_segment(self.text, node) or "").split())

    def is_nested(self, call: ast.Call) -> bool:
        """Whether it stands in a statement within another one: what happens there is known only at run time."""
        return not any(isinstance(one, _AT_ONCE) and call in ast.walk(one) for one in self.tree.body)

    def calls(self) -> Iterator[ast.Call]:
        """All calls in it, decorators included, in the order of their lines."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        yield from sorted(found, key=lambda node: (node.lineno, node.col_offset))

    def value(self, node: ast.expr) -> Any:  # noqa: ANN401 - anything that a source can say
        """What an expression stands for: a value, a ``Reference`` or a ``Called``.

        Raises:
            DialectError: that is known only when the program runs.
        """
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self.names.get(name, Reference(name))
            case ast.Call():
                return self.call(node)
            case ast.Attribute(value=inner, attr=attr):
                home = self.value(inner)
                if isinstance(home, Reference):
                    return Reference(f"{home.name}.{attr}")
                raise self._unknown(node)
            case _:
                return self._composed(node)

    def _unknown(self, node: ast.expr) -> DialectError:
        return DialectError(f"'{self.shown(node)[:80]}' is known only when the program runs")

    def _composed(self, node: ast.expr) -> Any:  # noqa: ANN401 - see above
        match node:
            case ast.List(elts=several) | ast.Tuple(elts=several):
                return [self.value(one) for one in several]
            case ast.Set(elts=several):
                return {self.value(one) for one in several}
            case ast.Dict(keys=keys, values=values) if None not in keys:
                return {self.value(key): self.value(one) for key, one in zip(keys, values, strict=True) if key}
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                return self._operated(node, type(operator), left, right)
            case _:
                raise self._unknown(node)

    def _operated(self, node: ast.expr, operator: type[ast.operator], left: ast.expr, right: ast.expr) -> Any:  # noqa: ANN401 - see above
        try:
            return _OPERATORS[operator](self.value(left), self.value(right))
        except TypeError:
            raise self._unknown(node) from None

    def call(self, node: ast.Call) -> Any:  # noqa: ANN401 - see above
        """A call; times and time spans as what they are.

        Raises:
            DialectError: its function or an argument is known only when the program runs.
        """
        function = self.value(node.func)
        if isinstance(function, Called):
            function = Reference(function.function.name)
        if not isinstance(function, Reference) or any(one.arg is None for one in node.keywords):
            raise self._unknown(node)
        args = [self.value(one) for one in node.args]
        kwargs = {one.arg: self.value(one.value) for one in node.keywords if one.arg}
        if function.name in _BUILT:
            try:
                return _BUILT[function.name](*args, **kwargs)
            except (TypeError, ValueError) as error:
                raise DialectError(f"'{self.shown(node)[:80]}': {error}") from None
        return Called(function, args, kwargs)
