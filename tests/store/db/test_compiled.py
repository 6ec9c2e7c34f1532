"""Statements are compiled once for all engines that would compile them alike."""

from typing import Any

from sqlalchemy import Engine, select

from cronograph.jobs.store.db.connecting import sync_engine
from cronograph.jobs.store.db.database import parse_url
from cronograph.jobs.store.schema.tables import run


def compiles(engine: Engine, limit: int) -> bool:
    """Return whether this engine had to compile the statement."""
    statement = select(run.c.id, run.c.state).offset(7).limit(limit).distinct()
    with engine.begin() as conn:
        context: Any = conn.execute(statement).context
    engine.dispose()
    return bool(context.cache_hit is context.dialect.CACHE_MISS)


def test_another_engine_of_the_database_finds_what_one_has_compiled(database_url: str) -> None:
    url = parse_url(database_url)
    first, second = sync_engine(url), sync_engine(url, pooled=1)
    compiles(first, 1)
    assert not compiles(second, 2)


def test_tables_of_another_schema_are_named_by_statements_of_their_own(postgres_url: str) -> None:
    url = parse_url(postgres_url)
    here, there = sync_engine(url), sync_engine(url.update_query_dict({"schema": "other"}))
    assert here.dialect != there.dialect
    assert "FROM other." in str(select(run.c.id).compile(dialect=there.dialect))
    assert "other." not in str(select(run.c.id).compile(dialect=here.dialect))
