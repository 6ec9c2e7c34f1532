"""A row that cannot be read, because somebody wrote past this product, hides no other."""

import logging

import pytest
from sqlalchemy import text

from tests.graphql_api.api import Api

LISTS = {
    "runs": ("run", "args = '{x'", "id"),
    "runs by another column": ("run", "available_at = 'x'", "id"),
    "tasks": ("periodic_task", "updated_at = 'x'", "id"),
    "skippedOccurrences": ("skipped_occurrence", "at = 'x'", "id"),
    "nodes": ("node", "heartbeat_at = 'x'", "id"),
    "executions": ("job_execution", "completed_at = 'x'", "id"),
}
"""By the list: its table, what becomes of its last row, and its key."""
SHOWN = {
    "runs": "id args availableAt",
    "tasks": "id updatedAt",
    "skippedOccurrences": "id at",
    "nodes": "id heartbeatAt",
    "executions": "id completedAt",
}


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """SQLite alone: PostgreSQL takes no such values."""
    return sqlite_url


@pytest.mark.parametrize("case", LISTS)
async def test_a_list_shows_the_other_rows_and_the_log_names_the_bad_one(
    api: Api, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    stored, (table, damage, key) = api.stored, LISTS[case]
    node = stored.node(name="another")
    for name in ("a", "b"):
        stored.task(name=name)
        stored.enqueue()
    for _ in range(2):
        node.end(node.start())
    for _ in range(3):
        stored.pass_time(120)
        stored.dispatch()
    stored.do(
        lambda tx: tx.conn.execute(text(f"UPDATE {table} SET {damage} WHERE {key} = (SELECT max({key}) FROM {table})"))
    )
    field = case.split(maxsplit=1)[0]
    with caplog.at_level(logging.ERROR):
        data, errors = await api.execute(f"{{ {field} {{ nodes {{ {SHOWN[field]} }} }} }}")
    assert errors == []
    (rows,) = stored.do(lambda tx: tx.conn.execute(text(f"SELECT count(*) FROM {table}")).one())
    assert len(data[field]["nodes"]) == rows - 1 > 0
    assert "left out the row" in caplog.text
