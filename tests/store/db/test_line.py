"""The connection of the hot path is opened again when it died while nobody used it."""

import psycopg
import pytest

from cronograph.jobs.store.db.address import libpq_url, parse_url
from cronograph.jobs.store.db.connecting import IDLE_SECONDS
from cronograph.jobs.store.db.line import Line
from tests.support.waiting import let_pass

pytestmark = pytest.mark.postgres


async def test_a_line_that_died_while_it_was_idle_is_opened_again_by_its_next_use(postgres_url: str) -> None:
    line = Line(parse_url(postgres_url))
    ((first,),) = await line.execute("SELECT pg_backend_pid()", {})
    with psycopg.connect(libpq_url(parse_url(postgres_url)), autocommit=True) as other:
        assert other.execute("SELECT pg_terminate_backend(%s, 5000)", (first,)).fetchone() == (True,)
    let_pass(IDLE_SECONDS + 0.1)
    ((second,),) = await line.execute("SELECT pg_backend_pid()", {})
    assert second != first
    await line.close()
