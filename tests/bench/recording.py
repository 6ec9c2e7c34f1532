"""The statements that a read sends, to send them again on the bare driver."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, event


@contextmanager
def recorded(conn: Connection) -> Generator[list[tuple[str, Any]]]:
    """The statements, with their parameters, that the block sends on this connection."""
    sent: list[tuple[str, Any]] = []

    def note(_conn: object, _cursor: object, statement: str, parameters: Any, *_rest: object) -> None:
        sent.append((statement, parameters))

    event.listen(conn, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(conn, "before_cursor_execute", note)


def again(conn: Connection, statement: str, parameters: Any) -> float:
    """Seconds that a statement takes on the driver of a connection, its rows fetched."""
    cursor = conn.connection.cursor()
    began = time.perf_counter()
    cursor.execute(statement, parameters)
    cursor.fetchall()
    took = time.perf_counter() - began
    cursor.close()
    return took
