"""How the tests bring a database to the present schema."""

from cronograph.jobs.store.database import parse_url, sync_engine
from cronograph.jobs.store.tables import metadata


def migrate(url: str) -> None:
    """Create every table in the database at `url`, which must be empty."""
    engine = sync_engine(parse_url(url))
    try:
        metadata.create_all(engine)
    finally:
        engine.dispose()
