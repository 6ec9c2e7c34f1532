"""How much work a statement is, on a busy machine too: rows that its plan touches, steps of SQLite."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import psycopg
from sqlalchemy import Connection, event

from cronograph.jobs.store.db.address import libpq_url, parse_url
from cronograph.jobs.store.db.autocommit import PLANS
from cronograph.jobs.store.db.connecting import postgres_arguments
from cronograph.jobs.store.db.dialect import is_postgresql


def work(conn: Connection, read: Callable[[], object]) -> int:
    """Return how much a read does, in rows (PostgreSQL) or steps (SQLite)."""
    return rows_touched(conn, read) if is_postgresql(conn) else steps(conn, read)


def steps(conn: Connection, read: Callable[[], object]) -> int:
    """Steps of SQLite's virtual machine, in tens."""
    driver: Any = conn.connection.driver_connection
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    driver.set_progress_handler(count, 10)
    try:
        read()
    finally:
        driver.set_progress_handler(None, 0)
    return taken * 10


def rows_touched(conn: Connection, read: Callable[[], object]) -> int:
    """Rows that PostgreSQL's scans returned or threw away; what is measured may write as well."""
    return sum(map(rows_of, plans_made(conn, read)))


def plans_made(conn: Connection, read: Callable[[], object]) -> list[dict[str, Any]]:
    """The plans by which PostgreSQL executes what is sent; what it has no plan for is left out."""
    plans: list[dict[str, Any]] = []

    def explain(_conn: object, cursor: Any, statement: str, parameters: Any, *_rest: object) -> None:
        if not _PLANNED.match(statement):
            return
        cursor.execute("SAVEPOINT explained")
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)
        plans.append(cursor.fetchone()[0][0]["Plan"])
        cursor.execute("ROLLBACK TO SAVEPOINT explained")

    event.listen(conn, "before_cursor_execute", explain)
    try:
        read()
    finally:
        event.remove(conn, "before_cursor_execute", explain)
    return plans


_PLANNED = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")


def rows_of(plan: dict[str, Any]) -> int:
    """The rows that the scans of a plan touched, and those that its joins compared in vain."""
    scanned: float = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0) if "Scan" in plan["Node Type"] else 0
    compared: float = plan.get("Rows Removed by Join Filter", 0)
    own = (scanned + compared) * float(plan["Actual Loops"])
    return round(own) + sum(rows_of(part) for part in plan.get("Plans", []))


def rows_touched_on_autocommit(url: str, statement: str, parameters: Mapping[str, Any]) -> int:
    """Rows that a statement's scans touch when an ``AutocommitConnection`` repeats it. It is executed here."""
    return rows_of(_plan_on_autocommit(url, statement, parameters))


def pages_touched_on_autocommit(url: str, statement: str, parameters: Mapping[str, Any]) -> int:
    """Pages that such a statement looks at, each as often as it does. It is executed here."""
    plan = _plan_on_autocommit(url, statement, parameters)
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def _plan_on_autocommit(url: str, statement: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    for place, name in enumerate(names, 1):
        statement = statement.replace(f"%({name})s", f"${place}")
    address = parse_url(url)
    with psycopg.connect(libpq_url(address), autocommit=True, **postgres_arguments(address, **PLANS)) as connection:
        connection.execute(f"PREPARE explained AS {statement}".encode())
        marks = ", ".join("%s" for _ in names)
        cursor = psycopg.ClientCursor(connection)
        explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE explained({marks})"
        cursor.execute(explain.encode(), [parameters[name] for name in names])
        ((plans,),) = cursor.fetchall()
        plan: dict[str, Any] = plans[0]["Plan"]
        return plan
