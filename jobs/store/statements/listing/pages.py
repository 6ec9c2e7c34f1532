"""Pages, counts and batches of the lists in ``lists``; each function is one statement, however many rows it reads."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, ScalarSelect, Select, Subquery, and_, func, literal, select, true

from ....core.base.errors import UnreadableRow
from ...db import dialect
from ...db.unreadable import each, is_undecodable
from ...schema.rows import RowReader
from ...schema.tables import job_execution
from .criteria import AllOf, Condition, Criteria, Operator, joined
from .keyset import Page, PageRequest, Position, bounds, order_by, page_of, page_of_readable
from .listing import Listing

M = TypeVar("M")
N = TypeVar("N")

_NEWEST = "newest_"
"""The columns of an execution begin with it where they are read with those of its task."""

COUNT_CAP = 10_000
"""Rows are counted up to here; one more means "more than this many"."""

Parent = int | str
"""Owner of the rows of a batch: a task's or a run's id, a job's name."""


def page(conn: Connection, listing: Listing[M], request: PageRequest) -> Page[M]:
    """Return one page of a list."""
    return _page(conn, listing, request, listing.model)


def _page(conn: Connection, listing: Listing[Any], request: PageRequest, make: Callable[[Row[Any]], M]) -> Page[M]:
    def read(row: Row[Any]) -> tuple[M, Position]:
        return make(row), _position(row, request)

    found = each(conn, _page_statement(listing, request), listing.key, read, stored=listing.stored)
    if not any(isinstance(one, UnreadableRow) for one in found):
        return page_of(request, found)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    # The order of the keys is that of the rows: only the positions of those that cannot be read are missing.
    places = each(conn, _keys_and_places(listing, request), listing.key, lambda row: _position(row, request))
    return page_of_readable(
        request,
        [
            (one, None if isinstance(place, UnreadableRow) else place) if isinstance(one, UnreadableRow) else one
            for one, place in zip(found, places, strict=True)
        ],
    )


def _keys_and_places(listing: Listing[Any], request: PageRequest) -> Select[Any]:
    return _limited(listing, request, _keys(listing).add_columns(*_labels(listing, request)))


@lru_cache(maxsize=128)
def _page_statement(listing: Listing[Any], request: PageRequest) -> Select[Any]:
    # Pages ask for the same one again and again; putting it together costs as much as sending it.
    return _limited(listing, request, listing.rows.add_columns(*_labels(listing, request)))


def page_with_newest(
    conn: Connection, tasks: Listing[M], executions: Listing[N], request: PageRequest
) -> Page[tuple[M, N | None]]:
    """Return one page of tasks, each with its newest finished execution; None = it has none. One statement.

    Args:
        tasks: ``TASKS``, or some of its columns, ``id`` among them.
        executions: ``EXECUTIONS``, or some of its columns, ``id`` among them.
    """
    task_of, execution_of = tasks.model, _newest_reader(executions)
    found: list[tuple[tuple[M, N | None], Position]] = []
    rows = conn.execute(_statement_with_newest(tasks, executions, request))
    try:
        for row in rows:
            newest = None if row[-1] is None else execution_of(row)
            found.append(((task_of(row), newest), tuple(row)[-1 - len(request.order) : -1]))
    except Exception as error:
        rows.close()
        if not is_undecodable(error):
            raise
        return _page_and_newest(conn, tasks, executions, request)
    return page_of(request, found)


def _page_and_newest(
    conn: Connection, tasks: Listing[M], executions: Listing[N], request: PageRequest
) -> Page[tuple[M, N | None]]:
    """Do the same as ``page_with_newest``, row by row."""
    of_tasks = _page(conn, tasks, request, lambda row: (tasks.model(row), row.id))
    items: list[tuple[M, N | None]] = []
    faults = list(of_tasks.unreadable)
    for task, task_id in of_tasks.items:
        newest = newest_finished_of(literal(task_id, job_execution.c.id.type))
        read = each(conn, executions.rows.where(job_execution.c.id == newest), executions.key, executions.model)
        found = next(iter(read), None)
        items.append((task, None if isinstance(found, UnreadableRow) else found))
        faults += [found] if isinstance(found, UnreadableRow) else []
    return Page(
        tuple(items),
        of_tasks.positions,
        of_tasks.has_next,
        of_tasks.has_previous,
        unreadable=tuple(faults),
        outermost=of_tasks.outermost,
    )


@lru_cache(maxsize=128)
def _newest_reader(executions: Listing[Any]) -> RowReader[Any]:
    return executions.reader.prefixed(_NEWEST)


@lru_cache(maxsize=128)
def _statement_with_newest(tasks: Listing[Any], executions: Listing[Any], request: PageRequest) -> Select[Any]:
    # The page first, no matter what planners think of it: only for its tasks is anything looked for.
    page = _page_statement(tasks, request).subquery("page")
    newest = job_execution.alias("newest")
    names = [label.name for label in _labels(tasks, request)]
    positions: dict[str, ColumnElement[Any]] = {
        key.field: page.c[name] for key, name in zip(request.order, names, strict=True)
    }
    shown: list[ColumnElement[Any]] = [column for column in page.c if column.name not in names]
    found: Any = newest.c
    for chosen in executions.rows.selected_columns:
        further = executions.further.get(chosen.name)
        column = found[chosen.name] if further is None else further(newest)
        shown.append(column.label(_NEWEST + chosen.name))
    both: Select[Any] = select(*shown, *positions.values(), newest.c.id.label("is_there_"))
    joined = both.select_from(page.outerjoin(newest, newest.c.id == newest_finished_of(page.c.id)))
    return joined.order_by(*order_by(request, positions))


def newest_finished_of(task_id: ColumnElement[int]) -> ScalarSelect[int]:
    """Return the id of a task's newest finished execution; ``task_id`` is a column of another table of the query."""
    one = job_execution.alias("one")
    # Not "=", as in ``pages_of``: only the index that begins with the task is to serve the order.
    mine = and_(one.c.task_id >= task_id, one.c.task_id <= task_id, one.c.completed_at.is_not(None))
    newest = select(one.c.id).where(mine).order_by(one.c.task_id.desc(), one.c.id.desc()).limit(1)
    return newest.correlate_except(one).scalar_subquery()


def count(conn: Connection, listing: Listing[M], criteria: Criteria, cap: int = COUNT_CAP) -> int:
    """Return how many rows meet the condition, counted up to ``cap`` + 1."""
    criteria = joined(criteria) if dialect.is_postgresql(conn) else criteria
    rows = _keys(listing).where(listing.condition(criteria)).limit(cap + 1).subquery("counted")
    return conn.execute(select(func.count()).select_from(rows)).scalar_one()


def ids(conn: Connection, listing: Listing[M], criteria: Criteria, limit: int) -> list[int]:
    """Return the keys of up to ``limit`` rows that meet the condition, smallest first."""
    statement = _keys(listing).where(listing.condition(criteria)).order_by(listing.key).limit(limit)
    return list(conn.execute(statement).scalars())


def newest_id(conn: Connection, listing: Listing[Any]) -> int:
    """Return the largest key of a list, 0 if it is empty."""
    found: int | None = conn.execute(select(func.max(listing.key))).scalar_one()
    return found or 0


def pages_of(
    conn: Connection, listing: Listing[M], field: str, parents: Sequence[Parent], request: PageRequest
) -> dict[Parent, Page[M]]:
    """Return for each parent its own page of the rows whose ``field`` names it.

    Args:
        field: The field of the list that holds the parent's key.
        parents: Keys without repetition.
        request: The same for all parents.
    """
    owners, parameters = _parents(conn, parents)
    labels = _labels(listing, request)
    column = listing.fields[field]
    mine = column == owners.c.parent
    if dialect.is_postgresql(conn):
        # Not "=": PostgreSQL would take any index over the rest of the order and look for the parent's rows along it,
        # through the whole table if they are rare. So only an index that begins with the parent can serve the order.
        mine = and_(column >= owners.c.parent, column <= owners.c.parent)
        turned = request.order[0].descending != request.backwards
        ordered = listing.rows.add_columns(*labels).where(mine).order_by(column.desc() if turned else column.asc())
        rows = _limited(listing, request, ordered).correlate(owners).lateral("page")
        statement = select(owners.c.parent.label("parent_"), rows).select_from(owners.join(rows, true()))
    else:
        # SQLite has no LATERAL, but it answers a correlated IN once per parent and by the index.
        wanted = _limited(listing, request, _keys(listing).where(mine)).correlate(owners)
        statement = listing.rows.add_columns(owners.c.parent.label("parent_"), *labels).join_from(
            listing.rows.get_final_froms()[0], owners, listing.key.in_(wanted)
        )
        statement = statement.order_by(*order_by(request, listing.fields))
    found: dict[Parent, list[tuple[M, Position]]] = {parent: [] for parent in parents}
    result = conn.execute(statement, parameters)
    try:
        for row in result:
            found[row.parent_].append((listing.model(row), _position(row, request)))
    except Exception as error:
        result.close()
        if not is_undecodable(error):
            raise
        return {parent: page(conn, listing, _of_parent(request, field, parent)) for parent in parents}
    return {parent: page_of(request, rows) for parent, rows in found.items()}


def _of_parent(request: PageRequest, field: str, parent: Parent) -> PageRequest:
    return replace(request, criteria=AllOf((request.criteria, Condition(field, Operator.EQ, parent))))


def counts_of(
    conn: Connection,
    listing: Listing[M],
    field: str,
    parents: Sequence[Parent],
    criteria: Criteria,
    cap: int = COUNT_CAP,
) -> dict[Parent, int]:
    """Return for each parent how many of its rows meet the condition, counted up to ``cap`` + 1."""
    owners, parameters = _parents(conn, parents)
    mine = and_(listing.fields[field] == owners.c.parent, listing.condition(criteria))
    rows = _keys(listing).where(mine).limit(cap + 1).correlate(owners).subquery("counted")
    number = select(func.count()).select_from(rows).scalar_subquery()
    rows_found = conn.execute(select(owners.c.parent, number), parameters)
    return {row.parent: row[1] for row in rows_found}


def _keys(listing: Listing[Any]) -> Select[Any]:
    return listing.rows.with_only_columns(listing.key, maintain_column_froms=True)


def _limited(listing: Listing[Any], request: PageRequest, statement: Select[Any]) -> Select[Any]:
    return (
        statement.where(listing.condition(request.criteria), bounds(request, listing.fields))
        .order_by(*order_by(request, listing.fields))
        .limit(request.limit + 1)
    )


def _labels(listing: Listing[Any], request: PageRequest) -> list[ColumnElement[Any]]:
    return [listing.fields[key.field].label(f"position_{place}_") for place, key in enumerate(request.order)]


def _position(row: Row[Any], request: PageRequest) -> Position:
    """Return the values by which a row is ordered: its last columns, those of ``_labels``."""
    return tuple(row)[-len(request.order) :]


def _parents(conn: Connection, parents: Sequence[Parent]) -> tuple[Subquery, dict[str, Any]]:
    kind = dialect.KINDS[str if parents and isinstance(parents[0], str) else int]
    return dialect.batch(conn, {"parent": kind}, [(parent,) for parent in parents], name="owners")
