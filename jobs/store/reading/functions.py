"""SQL functions that the two databases spell differently; SQLAlchemy chooses the spelling when it compiles."""

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Float
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement, GenericFunction


class seconds_between(GenericFunction[float]):
    """Seconds from the first time to the second; NULL if either is."""

    type = Float()
    inherit_cache = True
    name = "cronograph_seconds_between"


@compiles(seconds_between, "postgresql")
def _postgresql(element: seconds_between, compiler: SQLCompiler, **options: Any) -> str:
    start, end = _operands(element, compiler, options)
    return f"EXTRACT(EPOCH FROM {end} - {start})::double precision"


@compiles(seconds_between, "sqlite")
def _sqlite(element: seconds_between, compiler: SQLCompiler, **options: Any) -> str:
    # Whole seconds as integers and the six stored decimals apart: julianday() alone is only exact to 0.1 ms.
    start, end = _operands(element, compiler, options)
    whole = f"(strftime('%s', {end}) - strftime('%s', {start}))"
    micros = f"(CAST(substr({end}, 21, 6) AS INTEGER) - CAST(substr({start}, 21, 6) AS INTEGER))"
    return f"({whole} * 1000000 + {micros}) / 1000000.0"


class bucket_start(GenericFunction[int]):
    """The beginning, in seconds since 1970, of the bucket of so many seconds that a time lies in."""

    type = BigInteger()
    inherit_cache = True
    name = "cronograph_bucket_start"


@compiles(bucket_start, "postgresql")
def _bucket_postgresql(element: bucket_start, compiler: SQLCompiler, **options: Any) -> str:
    instant, seconds = _operands(element, compiler, options)
    return f"(floor(EXTRACT(EPOCH FROM {instant}) / {seconds})::bigint * {seconds})"


@compiles(bucket_start, "sqlite")
def _bucket_sqlite(element: bucket_start, compiler: SQLCompiler, **options: Any) -> str:
    instant, seconds = _operands(element, compiler, options)
    return f"(CAST(strftime('%s', {instant}) AS INTEGER) / {seconds} * {seconds})"


def _operands(element: FunctionElement[Any], compiler: SQLCompiler, options: dict[str, Any]) -> tuple[str, str]:
    first, second = (compiler.process(clause, **options) for clause in element.clauses)
    return first, second


def duration(start: ColumnElement[Any], end: ColumnElement[Any]) -> ColumnElement[float]:
    """The seconds from ``start`` to ``end`` as an expression to select, filter and order by."""
    return seconds_between(start, end)
