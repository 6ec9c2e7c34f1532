"""How a function of ours is written in the SQL of each database; SQLAlchemy chooses when it compiles."""

from collections.abc import Callable
from string import Formatter
from typing import Any, TypeVar

from sqlalchemy import ColumnElement
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement, GenericFunction
from sqlalchemy.types import TypeEngine

T = TypeVar("T")


def spelled(name: str, kind: TypeEngine[T], *, postgresql: str, sqlite: str) -> Callable[..., ColumnElement[T]]:
    """A function of this type, compiled to these texts, in which ``{0}`` stands for its first operand, and so on."""
    settings = {"type": kind, "inherit_cache": True, "name": f"cronograph_{name}"}
    function: type[GenericFunction[T]] = type(name, (GenericFunction,), settings)
    for database, text in (("postgresql", postgresql), ("sqlite", sqlite)):
        spell(function, database, text)
    return function


def spell(function: type[FunctionElement[Any]], database: str, text: str) -> None:
    """Have a function compiled to a text for one database."""
    # An operand that is not in the text is not compiled: its value would be sent for nothing.
    used = {int(place) for _, place, _, _ in Formatter().parse(text) if place}

    def compiled(element: FunctionElement[Any], compiler: SQLCompiler, **options: Any) -> str:
        operands = enumerate(element.clauses)
        return text.format(*(compiler.process(one, **options) if place in used else "" for place, one in operands))

    compiles(function, database)(compiled)
