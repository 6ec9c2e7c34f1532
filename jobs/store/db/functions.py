"""SQL functions that the two databases spell differently; SQLAlchemy chooses the spelling when it compiles."""

from typing import Any

from sqlalchemy import BigInteger, Boolean, ColumnElement, Float
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement, GenericFunction


class SecondsBetween(GenericFunction[float]):
    """Seconds from the first time to the second; NULL if either is."""

    type = Float()
    inherit_cache = True
    name = "cronograph_seconds_between"


@compiles(SecondsBetween, "postgresql")
def _postgresql(element: SecondsBetween, compiler: SQLCompiler, **options: Any) -> str:
    start, end = _operands(element, compiler, options)
    return f"EXTRACT(EPOCH FROM {end} - {start})::double precision"


@compiles(SecondsBetween, "sqlite")
def _sqlite(element: SecondsBetween, compiler: SQLCompiler, **options: Any) -> str:
    # Whole seconds as integers and the six stored decimals apart: SQLite's own times are rounded to milliseconds.
    start, end = _operands(element, compiler, options)
    whole = f"({_whole_seconds(end)} - {_whole_seconds(start)})"
    micros = f"(CAST(substr({end}, 21, 6) AS INTEGER) - CAST(substr({start}, 21, 6) AS INTEGER))"
    return f"({whole} * 1000000 + {micros}) / 1000000.0"


class BucketStart(GenericFunction[int]):
    """The beginning, in seconds since 1970, of the bucket of so many seconds that a time lies in."""

    type = BigInteger()
    inherit_cache = True
    name = "cronograph_bucket_start"


@compiles(BucketStart, "postgresql")
def _bucket_postgresql(element: BucketStart, compiler: SQLCompiler, **options: Any) -> str:
    instant, seconds = _operands(element, compiler, options)
    return f"(floor(EXTRACT(EPOCH FROM {instant}) / {seconds})::bigint * {seconds})"


@compiles(BucketStart, "sqlite")
def _bucket_sqlite(element: BucketStart, compiler: SQLCompiler, **options: Any) -> str:
    instant, seconds = _operands(element, compiler, options)
    return f"({_whole_seconds(instant)} / {seconds} * {seconds})"


class FitsPattern(GenericFunction[bool]):
    """Whether a text fits the second operand, a regular expression, on PostgreSQL; the third, for GLOB, on SQLite."""

    type = Boolean()
    inherit_cache = True
    name = "cronograph_fits_pattern"


@compiles(FitsPattern, "postgresql")
def _fits_postgresql(element: FitsPattern, compiler: SQLCompiler, **options: Any) -> str:
    text, expression, _ = element.clauses
    return f"({compiler.process(text, **options)} ~ {compiler.process(expression, **options)})"


@compiles(FitsPattern, "sqlite")
def _fits_sqlite(element: FitsPattern, compiler: SQLCompiler, **options: Any) -> str:
    text, _, glob = element.clauses
    return f"({compiler.process(text, **options)} GLOB {compiler.process(glob, **options)})"


def _whole_seconds(instant: str) -> str:
    """SQLite: the seconds since 1970, rounded down: with its decimals, .9996 would be rounded up to the next second."""
    return f"CAST(strftime('%s', substr({instant}, 1, 19)) AS INTEGER)"


def _operands(element: FunctionElement[Any], compiler: SQLCompiler, options: dict[str, Any]) -> tuple[str, str]:
    first, second = (compiler.process(clause, **options) for clause in element.clauses)
    return first, second


def duration(start: ColumnElement[Any], end: ColumnElement[Any]) -> ColumnElement[float]:
    """The seconds from ``start`` to ``end`` as an expression to select, filter and order by."""
    return SecondsBetween(start, end)
