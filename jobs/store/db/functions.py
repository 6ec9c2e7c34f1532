"""SQL functions that the two databases spell differently; SQLAlchemy chooses the spelling when it compiles."""

from typing import Any

from sqlalchemy import BigInteger, Boolean, ColumnElement, Float, Text
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
    # By days, which it reads in half the time that seconds since 1970 take; they are exact to 0.05 ms.
    start, end = _operands(element, compiler, options)
    days = f"(julianday(substr({end}, 1, 19)) - julianday(substr({start}, 1, 19)))"
    whole = f"CAST(round({days} * 86400) AS INTEGER)"
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


class WrittenTime(GenericFunction[str]):
    """A time as the API writes it: in UTC, with as many decimals as there are."""

    type = Text()
    inherit_cache = True
    name = "cronograph_written_time"


@compiles(WrittenTime, "postgresql")
def _written_postgresql(element: WrittenTime, compiler: SQLCompiler, **options: Any) -> str:
    (instant,) = (compiler.process(clause, **options) for clause in element.clauses)
    micros = f"to_char({instant} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')"
    return f"rtrim(rtrim({micros}, '0'), '.') || 'Z'"


@compiles(WrittenTime, "sqlite")
def _written_sqlite(element: WrittenTime, compiler: SQLCompiler, **options: Any) -> str:
    (instant,) = (compiler.process(clause, **options) for clause in element.clauses)
    return f"rtrim(rtrim(substr({instant}, 1, 26), '0'), '.') || 'Z'"


def _whole_seconds(instant: str) -> str:
    """SQLite: the seconds since 1970, rounded down: with its decimals, .9996 would be rounded up to the next second."""
    return f"CAST(strftime('%s', substr({instant}, 1, 19)) AS INTEGER)"


def _operands(element: FunctionElement[Any], compiler: SQLCompiler, options: dict[str, Any]) -> tuple[str, str]:
    first, second = (compiler.process(clause, **options) for clause in element.clauses)
    return first, second


def duration(start: ColumnElement[Any], end: ColumnElement[Any]) -> ColumnElement[float]:
    """The seconds from ``start`` to ``end`` as an expression to select, filter and order by."""
    return SecondsBetween(start, end)


def written_time(instant: ColumnElement[Any]) -> ColumnElement[str]:
    """A time as ``time_text`` in ``core.wording`` writes it, made by the database: for thousands of them."""
    return WrittenTime(instant)
