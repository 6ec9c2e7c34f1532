"""The connections of the hot path and of enqueueing are opened again when it died while nobody used it."""

import psycopg
import pytest

from cronograph.jobs.store.db.address import libpq_url, parse_url
from cronograph.jobs.store.db.autocommit import AutocommitConnection, NotConnectedError, SyncAutocommitConnection
from cronograph.jobs.store.db.connecting import IDLE_SECONDS
from tests.support.waiting import let_pass

pytestmark = pytest.mark.postgres


async def test_a_line_that_died_while_it_was_idle_is_opened_again_by_its_next_use(postgres_url: str) -> None:
    url = parse_url(postgres_url)
    line, threads = AutocommitConnection(url), SyncAutocommitConnection(url)
    own = "SELECT pg_backend_pid()"
    first = {*await line.execute(own, {}), *threads.execute(own, {})}
    with psycopg.connect(libpq_url(url), autocommit=True) as other:
        for (backend,) in first:
            assert other.execute("SELECT pg_terminate_backend(%s, 5000)", (backend,)).fetchone() == (True,)
    let_pass(IDLE_SECONDS + 0.1)
    second = {*await line.execute(own, {}), *threads.execute(own, {})}
    assert len(first | second) == 4
    await line.close()
    threads.close()


async def test_a_line_that_gets_no_connection_says_that_nothing_was_sent() -> None:
    line = AutocommitConnection(parse_url("postgresql://nobody@127.0.0.1:1/nothing"))
    with pytest.raises(NotConnectedError, match="refused"):
        await line.execute("SELECT 1", {})
    await line.close()


@pytest.mark.parametrize("query", ["", "?pooler=transaction"])
async def test_parameters_are_found_by_name_however_often_they_are_used(postgres_url: str, query: str) -> None:
    line, threads = (
        AutocommitConnection(parse_url(postgres_url + query)),
        SyncAutocommitConnection(parse_url(postgres_url)),
    )
    statement = "SELECT concat(CAST(%(last)s AS text), ' %% ', CAST(%(first)s AS int), CAST(%(last)s AS text)) AS found"
    given = {"first": 1, "unused": 2, "last": "b"}
    assert [row.found for row in await line.execute(statement, given)] == ["b % 1b"]
    assert [row.found for row in threads.execute(statement, given)] == ["b % 1b"]
    await line.close()
    threads.close()
