"""A database for tests of jobs: the present schema in a fresh SQLite file, made at once and without migrations."""

from sqlalchemy import insert

from ..schema.tables import event_publisher, metadata
from .database import parse_url, sync_engine


def create_tables(url: str) -> None:
    """Make every table in an empty database."""
    engine = sync_engine(parse_url(url))
    try:
        with engine.begin() as conn:
            metadata.create_all(conn, checkfirst=False)
            conn.execute(insert(event_publisher).values(id=1, last_seq=0))
    finally:
        engine.dispose()
