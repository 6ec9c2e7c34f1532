"""How a function of ours is written in the SQL of each database; SQLAlchemy chooses when it compiles."""

from string import Formatter
from typing import Any

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


def spelled(function: type[FunctionElement[Any]], *, postgresql: str, sqlite: str) -> None:
    """Have ``function`` compiled to these texts, in which ``{0}`` stands for its first operand, and so on."""
    for database, text in (("postgresql", postgresql), ("sqlite", sqlite)):
        _spell(function, database, text)


def _spell(function: type[FunctionElement[Any]], database: str, text: str) -> None:
    # An operand that is not in the text is not compiled: its value would be sent for nothing.
    used = {int(place) for _, place, _, _ in Formatter().parse(text) if place}

    def compiled(element: FunctionElement[Any], compiler: SQLCompiler, **options: Any) -> str:
        operands = enumerate(element.clauses)
        return text.format(*(compiler.process(one, **options) if place in used else "" for place, one in operands))

    compiles(function, database)(compiled)
