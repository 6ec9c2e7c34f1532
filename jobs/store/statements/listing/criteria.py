"""Conditions on rows as values, and their SQL.

A condition names a field of a list (see ``lists``), never a column, so callers need no SQL. Missing values follow
the rule that people expect: ``NE`` and ``NOT_IN`` find rows without a value too, and ``Not`` finds all that its part
does not.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from operator import ge, gt, le, lt
from typing import Any, TypeAlias

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Select,
    String,
    Subquery,
    and_,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
)

from ...db.functions import (
    fits_pattern,
    has_member,
    has_value_at,
    is_one_of_few,
    is_one_of_many,
    sql_literal,
    sql_literals,
)
from ...schema.tables import job_execution as e
from ...schema.tables import run_label


def contains(column: ColumnElement[str], text: str) -> ColumnElement[bool]:
    """Return whether a column holds a text, in any case."""
    if text.isascii():
        return column.icontains(text, autoescape=True)
    return _fits(column, expression(text), f"*{glob(text)}*")


def starts_with(column: ColumnElement[str], text: str) -> ColumnElement[bool]:
    """Return whether a column begins with a text, in any case."""
    if text.isascii():
        return column.istartswith(text, autoescape=True)
    return _fits(column, f"^{expression(text)}", f"{glob(text)}*")


def _fits(column: ColumnElement[str], regular: str, globbed: str) -> ColumnElement[bool]:
    return fits_pattern(column, literal(regular, String()), literal(globbed, String()))


def expression(text: str) -> str:
    """PostgreSQL's regular expression for a text in any case."""
    return "".join(_class(letter) or (f"\\{letter}" if _special(letter) else letter) for letter in text)


def glob(text: str) -> str:
    """Return SQLite's GLOB pattern for a text in any case."""
    return "".join(_class(letter) or (f"[{letter}]" if letter in "*?[" else letter) for letter in text)


def _special(letter: str) -> bool:
    return letter.isascii() and letter.isprintable() and not letter.isalnum() and not letter.isspace()


def _class(letter: str) -> str | None:
    """Return the forms of a letter, such as ``[äÄ]``; None if it has but one."""
    forms = [letter, *(form for form in (letter.lower(), letter.upper()) if len(form) == 1 and form != letter)]
    return f"[{''.join(forms)}]" if len(forms) > 1 else None


SLACK = timedelta(hours=1)
"""Ids ascend with the time of the start, but for starts that were committed late and clocks that were set back."""
_NEIGHBOURS = 100


def began_after(instant: datetime) -> ColumnElement[bool]:
    """Return the condition on the id of an execution that began at a time or later.

    Says little new, but an index over something else and the id can begin or end there: else it would be read through
    the whole history. Nothing began so late if there is no neighbour.
    """
    near = _neighbours(e.c.started_at >= instant - SLACK, e.c.started_at, e.c.id)
    return e.c.id >= select(func.min(near.c.id)).scalar_subquery()


def began_before(instant: datetime) -> ColumnElement[bool]:
    """Return the condition on the id of an execution that began at a time or earlier, see ``began_after``."""
    near = _neighbours(e.c.started_at < instant + SLACK, e.c.started_at.desc(), e.c.id.desc())
    return e.c.id <= select(func.max(near.c.id)).scalar_subquery()


def _neighbours(began: ColumnElement[bool], *order: ColumnElement[Any]) -> Subquery:
    # By the id, too: of many that began at once the outermost is among them.
    return select(e.c.id).where(began).order_by(*order).limit(_NEIGHBOURS).subquery()


MAX_BOUND = 1_000
"""Longest list of keys that is passed as parameters."""


class Operator(StrEnum):
    """Compare a field. ``CONTAINS`` and ``STARTS_WITH`` ignore the case of letters.

    ``LABELLED``: the run behind it has a label (a ``LabelMatch``). ``HAS_VALUE``: a document has a value at a path (a
    ``PathMatch``).
    """

    EQ = "eq"
    NE = "ne"
    IN = "in"
    NOT_IN = "not_in"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    IS_NULL = "is_null"
    LABELLED = "labelled"
    HAS_VALUE = "has_value"


LATER = frozenset({Operator.GT, Operator.GTE})
EARLIER = frozenset({Operator.LT, Operator.LTE})
"""Operators that bound a range, from below and from above."""


class Spread(Enum):
    """Say how many runs have a label: a few (looked up), many (each row is looked for among them), or unknown."""

    FEW = auto()
    MANY = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class LabelMatch:
    """A label that a run has: with this key, and one of these values; None = any value."""

    key: str
    values: tuple[str, ...] | None
    spread: Spread = Spread.UNKNOWN

    def runs(self) -> Select[int]:
        """Return the keys of the runs that have it."""
        found = select(run_label.c.run_id).where(run_label.c.key == self.key)
        if self.values is None:
            return found.distinct()
        return found.where(run_label.c.value.in_(self.values))

    def sql(self, run_id: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return whether the run with this key has it."""
        match self.spread:
            case Spread.FEW:
                return is_one_of_few(run_id, self.runs())
            case Spread.MANY:
                return is_one_of_many(run_id, self.runs())
            case Spread.UNKNOWN:
                return run_id.in_(self.runs())


@dataclass(frozen=True, slots=True)
class PathMatch:
    """A plain value at a path of names within a document."""

    path: tuple[str, ...]
    value: str | float | bool | None

    def sql(self, document: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return whether a document has it."""
        return has_value_at(document, self.path, self.value)


@dataclass(frozen=True, slots=True)
class MemberMatch:
    """Something at a path of names within a document."""

    path: tuple[str, ...]

    def sql(self, document: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return whether a document has it."""
        return has_member(document, self.path)


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison. ``value`` is a tuple for ``IN`` and ``NOT_IN``, a bool for ``IS_NULL``; None means "no value"."""

    field: str
    operator: Operator
    value: Any

    def values(self) -> frozenset[Any]:
        """Return the only values that the field can have if the condition holds (None: no value); empty: many."""
        match self.operator:
            case Operator.EQ:
                return frozenset({self.value})
            case Operator.IN:
                return frozenset(self.value)
            case Operator.IS_NULL:
                return frozenset({None} if self.value else ())
            case _:
                return frozenset()


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds; without parts everything passes."""

    parts: tuple["Criteria", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds; without parts nothing passes."""

    parts: tuple["Criteria", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: "Criteria"


Criteria: TypeAlias = Condition | AllOf | AnyOf | Not

EVERYTHING = AllOf(())
"""The condition that every row meets."""


def equal(field: str, value: Any) -> Condition:
    """Return the condition ``field = value``."""
    return Condition(field, Operator.EQ, value)


def one_of(field: str, values: tuple[Any, ...]) -> Condition:
    """Return the condition that ``field`` has one of ``values``."""
    return Condition(field, Operator.IN, values)


def conjuncts(criteria: Criteria) -> Iterator[Condition]:
    """Single conditions that all have to hold for ``criteria`` to hold; not necessarily every one of them."""
    match criteria:
        case AllOf(parts):
            for part in parts:
                yield from conjuncts(part)
        case Condition():
            yield criteria
        case AnyOf() | Not():
            return


def conditions(criteria: Criteria) -> Iterator[Condition]:
    """Yield every single condition, whether it has to hold or not."""
    match criteria:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from conditions(part)
        case Not(part):
            yield from conditions(part)
        case Condition():
            yield criteria


def mentions(criteria: Criteria, field: str) -> bool:
    """Return whether a condition asks anything of a field."""
    match criteria:
        case AllOf(parts) | AnyOf(parts):
            return any(mentions(part, field) for part in parts)
        case Not(part):
            return mentions(part, field)
        case Condition():
            return criteria.field == field


def labels_in(criteria: Criteria) -> set[LabelMatch]:
    """Return the labels that a condition asks for."""
    return {one.value for one in conditions(criteria) if one.operator is Operator.LABELLED}


def with_spreads(criteria: Criteria, spreads: Mapping[LabelMatch, Spread]) -> Criteria:
    """Return the same where it is known how many runs have the labels."""
    match criteria:
        case AllOf(parts):
            return AllOf(tuple(with_spreads(part, spreads) for part in parts))
        case AnyOf(parts):
            return AnyOf(tuple(with_spreads(part, spreads) for part in parts))
        case Not(part):
            return Not(with_spreads(part, spreads))
        case Condition(_, Operator.LABELLED, label):
            return replace(criteria, value=replace(label, spread=spreads[label]))
        case Condition():
            return criteria


def joined(criteria: Criteria) -> Criteria:
    """Return the same where the planner chooses how it looks for labels that have to hold and that many runs have.

    PostgreSQL joins two indexes then, which is the fastest way to count. Within an ``AnyOf`` or a ``Not`` it cannot.
    """
    match criteria:
        case AllOf(parts):
            return AllOf(tuple(joined(part) for part in parts))
        case Condition(_, Operator.LABELLED, LabelMatch(spread=Spread.MANY) as label):
            return replace(criteria, value=replace(label, spread=Spread.UNKNOWN))
        case AnyOf() | Not() | Condition():
            return criteria


def stand_in(criteria: Criteria, field: str, ids: tuple[int, ...]) -> Criteria:
    """Return the criteria with conditions on keys in place of a truth value that holds for just the rows ``ids``."""
    match criteria:
        case AllOf(parts):
            return AllOf(tuple(stand_in(part, field, ids) for part in parts))
        case AnyOf(parts):
            return AnyOf(tuple(stand_in(part, field, ids) for part in parts))
        case Not(part):
            return Not(stand_in(part, field, ids))
        case Condition(name, operator, value) if name == field:
            if value is None or operator is Operator.IS_NULL:
                # It always has a value.
                always = (operator is Operator.NE) if value is None else not value
                return AllOf(()) if always else AnyOf(())
            holds = value is (operator is Operator.EQ)
            return Condition("id", Operator.IN if holds else Operator.NOT_IN, ids)
        case Condition():
            return criteria


def to_sql(criteria: Criteria, columns: Mapping[str, ColumnElement[Any]]) -> ColumnElement[bool]:
    """Return the SQL of a condition."""
    match criteria:
        case AllOf(parts):
            return and_(true(), *(to_sql(part, columns) for part in parts))
        case AnyOf(parts):
            return or_(false(), *(to_sql(part, columns) for part in parts))
        case Not(part):
            # Not "NOT x": for a row whose comparison is unknown (NULL) the part does not hold either.
            return to_sql(part, columns).is_not(true())
        case Condition(field, _, (LabelMatch() | PathMatch() | MemberMatch()) as match):
            return match.sql(columns[field])
        case Condition(field, operator, value):
            several = operator in (Operator.IN, Operator.NOT_IN)
            return _comparison(columns[field], operator, _several(value) if several else _plain(value))


def _plain(value: Any) -> Any:
    """Return an enumeration as the word that the tables hold."""
    return sql_literal(value) if isinstance(value, StrEnum) else value


def _several(values: Iterable[Any]) -> list[Any]:
    """Return values in the order in which the conditions of the indexes name them, if they are words."""
    listed = list(values)
    if len(listed) > MAX_BOUND and all(isinstance(value, int) for value in listed):
        # Databases bound how many parameters a statement has.
        return [literal_column(str(int(value)), BigInteger()) for value in listed]
    found = [value for value in listed if isinstance(value, StrEnum)]
    return sql_literals(found) if len(found) == len(listed) else [_plain(value) for value in listed]


def _comparison(column: ColumnElement[Any], operator: Operator, value: Any) -> ColumnElement[bool]:
    match operator:
        case Operator.EQ:
            return _equal(column, value)
        case Operator.NE:
            return column.is_not(None) if value is None else column.is_distinct_from(value)
        case Operator.IN:
            return column.in_(value)
        case Operator.NOT_IN:
            return or_(column.not_in(value), column.is_(None))
        case Operator.CONTAINS:
            return contains(column, value)
        case Operator.STARTS_WITH:
            return starts_with(column, value)
        case Operator.IS_NULL:
            return column.is_(None) if value else column.is_not(None)
        case _:
            return _ordered(column, operator, value)


def _equal(column: ColumnElement[Any], value: Any) -> ColumnElement[bool]:
    if value is None:
        return column.is_(None)
    if isinstance(value, bool):
        # As a word and not as a parameter: SQLite takes a partial index only if it sees the condition of that index.
        return column == literal_column("true" if value else "false", Boolean())
    condition: ColumnElement[bool] = column == value
    return condition


def _ordered(column: ColumnElement[Any], operator: Operator, value: Any) -> ColumnElement[bool]:
    compare = {Operator.GT: gt, Operator.GTE: ge, Operator.LT: lt, Operator.LTE: le}[operator]
    condition: ColumnElement[bool] = compare(column, value)
    return condition
