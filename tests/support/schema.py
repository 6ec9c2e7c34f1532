"""How the tests bring a database to the present schema: by the migrations, as a server does at its start."""

from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.migrations.upgrade import upgrade


def migrate(url: str) -> None:
    """Bring the database at `url` to the newest revision."""
    engine = sync_engine(parse_url(url))
    try:
        with engine.connect() as connection:
            upgrade(connection)
    finally:
        engine.dispose()
