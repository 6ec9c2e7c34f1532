"""Tables in two parts on PostgreSQL: few rows that change, and the history, which is written once.

Each part is a partition with indexes of its own. An UPDATE that makes the condition of the first part false moves the
row to the second one, so a row that is at work has few index entries, a row of the history is inserted once, and every
statement names the table as a whole. SQLite has one table with all indexes: it updates rows in place.

The history, the log lines and the events are divided once more, into blocks of ascending ids: old rows are then
dropped as a whole. The first block has no lower bound and the last one no upper bound, so that no row ever lacks a
place. This module makes the first two; ``write.blocks`` makes the others, and drops them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from sqlalchemy import CheckConstraint, Connection, Index, PrimaryKeyConstraint, Table, UniqueConstraint, event
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex

from .types import SCHEMA, Part, SchemaText

BLOCK: Final = 10_000_000
"""Ids of a block: a busy installation fills one in a day, and most never fill any."""
FIRST_BLOCKS: Final = (1, 2)


@dataclass(frozen=True, slots=True)
class Split:
    """Describe how a table is split.

    Attributes:
        condition: Of the rows that are open.
        checks: Of each part, the condition of its rows. PostgreSQL leaves a part out of a statement whose conditions it
            contradicts. A check of the table that follows from these and the part's condition is on SQLite alone.
        settings: The storage parameters of the open part.
    """

    condition: str
    checks: Mapping[Part, str]
    settings: Mapping[str, object]

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of the ``Table``."""
        return {"postgresql_partition_by": f"LIST (({self.condition}))", "info": {"split": self}}


def in_blocks(column: str) -> dict[str, Any]:
    """Return the arguments of a ``Table`` that is divided by this column, and has no open part."""
    return {"postgresql_partition_by": f"RANGE ({column})", "info": {"blocks": column}}


def is_split(table: Table) -> bool:
    """Return whether the table has an open part and a history on PostgreSQL."""
    return "split" in table.info


def has_parts(table: Table) -> bool:
    """Return whether the table is partitioned on PostgreSQL."""
    return is_split(table) or "blocks" in table.info


def split(table: Table) -> None:
    """Let PostgreSQL make the parts of this table where the table is made, with its keys and indexes."""
    for one in (*of_parts(table), *table.indexes):
        one.ddl_if(dialect="sqlite")
    event.listen(table, "after_create", _make_parts)


def _make_parts(table: Table, connection: Connection, **_: object) -> None:
    if connection.dialect.name == "postgresql":
        for statement in statements(table):
            connection.execute(SchemaText(statement))


def keys_of(table: Table) -> list[PrimaryKeyConstraint | UniqueConstraint]:
    """Return the primary key and the unique constraints, in the order of their columns' names."""
    found = (one for one in table.constraints if isinstance(one, PrimaryKeyConstraint | UniqueConstraint))
    return sorted(found, key=lambda one: (not isinstance(one, PrimaryKeyConstraint), [each.name for each in one]))


def of_parts(table: Table) -> list[PrimaryKeyConstraint | UniqueConstraint | CheckConstraint]:
    """Return the keys and checks that the parts of a table have instead of the table, on PostgreSQL."""
    primary, *unique = keys_of(table)
    return [primary, *unique, *_checks_of(table)] if is_split(table) else [*unique]


def _checks_of(table: Table) -> list[CheckConstraint]:
    found = (one for one in table.constraints if isinstance(one, CheckConstraint))
    return sorted(found, key=_name_of)


def statements(table: Table) -> Iterator[str]:
    """Return the statements that make the parts of a table with their keys and indexes, on PostgreSQL."""
    if is_split(table):
        yield from _two_parts(table)
    history = in_history(table, table.name)
    yield from _first_blocks(history)
    # PostgreSQL has no unique constraint across blocks without their id.
    for one, block in product(keys_of(table)[1:], FIRST_BLOCKS):
        key = _key(one, block_name(in_history(table, _name_of(one)), block))
        yield f"ALTER TABLE {SCHEMA}.{block_name(history, block)} {key}"
    for index in sorted(table.indexes, key=lambda one: str(one.name)):
        yield from (statement for _, statement in index_statements(index))


def _two_parts(table: Table) -> Iterator[str]:
    how: Split = table.info["split"]
    settings = ", ".join(f"{name} = {value}" for name, value in how.settings.items())
    primary, *unique = keys_of(table)
    keys = {Part.OPEN: [primary, *unique], Part.DONE: [primary]}
    for part, value, more in (
        (Part.OPEN, "true", f" WITH ({settings})" if settings else ""),
        (Part.DONE, "false", " PARTITION BY RANGE (id)"),
    ):
        name = f"{table.name}_{part}"
        yield f"CREATE TABLE {SCHEMA}.{name} PARTITION OF {SCHEMA}.{table.name} FOR VALUES IN ({value}){more}"
        its_checks = [(f"ck_{name}_part", how.checks[part])]
        its_checks += [(_name_of(one), str(one.sqltext)) for one in _checks_of(table) if part in parts_of(one)]
        checks = (f"ADD CONSTRAINT {one} CHECK ({_LISTED.sub(_as_array, condition)})" for one, condition in its_checks)
        its_keys = (_key(one, name_in(_name_of(one), part)) for one in keys[part])
        yield f"ALTER TABLE {SCHEMA}.{name} {', '.join([*checks, *its_keys])}"


def block_name(table: str, number: int) -> str:
    """Return the name of the table that is a block of a history."""
    return f"{table}_{number}"


def _first_blocks(table: str) -> Iterator[str]:
    for number, bounds in zip(FIRST_BLOCKS, (f"(MINVALUE) TO ({BLOCK})", f"({BLOCK}) TO (MAXVALUE)"), strict=True):
        name = block_name(table, number)
        yield f"CREATE TABLE {SCHEMA}.{name} PARTITION OF {SCHEMA}.{table} FOR VALUES FROM {bounds}"


def index_statements(index: Index, blocks: Sequence[int] = FIRST_BLOCKS) -> Iterator[tuple[str, str]]:
    """Return the names and the statements of an index on PostgreSQL: one for each part that it covers.

    Args:
        blocks: The numbers of the blocks of its table's history, each of which has one.
    """
    made = " ".join(str(CreateIndex(index).compile(dialect=_POSTGRESQL)).split())
    table = index.table
    assert table is not None
    if not has_parts(table):
        yield str(index.name), made
        return
    whole = f" INDEX {index.name} ON {SCHEMA}.{table.name} "
    parts = parts_of(index) if is_split(table) else (Part.DONE,)
    if Part.OPEN in parts:
        yield str(index.name), made.replace(whole, f" INDEX {index.name} ON {SCHEMA}.{table.name}_{Part.OPEN} ")
    for block in blocks if Part.DONE in parts else ():
        name, owner = (block_name(in_history(table, one), block) for one in (str(index.name), table.name))
        yield name, made.replace(whole, f" INDEX {name} ON {SCHEMA}.{owner} ")


def parts_of(one: Index | CheckConstraint) -> Iterable[Part]:
    """Return the parts that have this index or check."""
    found: Iterable[Part] = one.info.get("parts", tuple(Part))
    return found


# PostgreSQL reads each check of a table again for each statement that writes to it, and an array much faster than a
# list of words.
_LISTED: Final = re.compile(r"(NOT )?IN \(('\w+'(?:, '\w+')*)\)")


def _as_array(words: re.Match[str]) -> str:
    return f"{'<> ALL' if words[1] else '= ANY'} ('{{{words[2].replace(chr(39), '')}}}')"


def name_in(name: str, part: Part) -> str:
    """Return the name of a key or an index in one part: that of the open part is the plain one."""
    return name if part is Part.OPEN else f"{name}_{part}"


def in_history(table: Table, name: str) -> str:
    """Return the name of a table, or of one of its keys or indexes, without the number of the block."""
    return name_in(name, Part.DONE) if is_split(table) else name


def _name_of(one: PrimaryKeyConstraint | UniqueConstraint | CheckConstraint) -> str:
    name = _POSTGRESQL.identifier_preparer.format_constraint(one)
    assert name is not None
    return name


def _key(key: PrimaryKeyConstraint | UniqueConstraint, name: str) -> str:
    kind = "PRIMARY KEY" if isinstance(key, PrimaryKeyConstraint) else "UNIQUE"
    return f"ADD CONSTRAINT {name} {kind} ({', '.join(each.name for each in key)})"


WHOLE_TABLE: Final = "coalesce((SELECT p.relname FROM pg_class p WHERE p.oid = pg_partition_root(s.relid)), s.relname)"
"""The name of the table that ``s``, a row of PostgreSQL's statistics of tables, is a part of; else its own."""
_POSTGRESQL: Final = postgresql.dialect()  # type: ignore[no-untyped-call]
