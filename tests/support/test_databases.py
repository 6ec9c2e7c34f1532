"""Each test gets a database of its own with the present schema."""

import pytest
from sqlalchemy import inspect

from cronograph.jobs.store.db.address import parse_url, schema_in
from cronograph.jobs.store.db.connecting import sync_engine
from cronograph.jobs.store.schema.types import SchemaText


@pytest.mark.parametrize("_round", [1, 2])
def test_a_fresh_database_has_every_table_and_nothing_in_them(database_url: str, _round: int) -> None:
    engine = sync_engine(parse_url(database_url))
    schema = schema_in(parse_url(database_url))
    assert {"periodic_task", "run", "job_execution"} <= set(inspect(engine).get_table_names(schema))
    with engine.begin() as connection:
        assert connection.execute(SchemaText("SELECT count(*) FROM cronograph.queue_group")).scalar_one() == 0
        connection.execute(SchemaText("DROP TABLE cronograph.job_execution"))
    engine.dispose()


def test_an_empty_database_has_no_table(empty_database_url: str) -> None:
    engine = sync_engine(parse_url(empty_database_url))
    assert inspect(engine).get_table_names() == []
    assert "cronograph" not in inspect(engine).get_schema_names()
    engine.dispose()
