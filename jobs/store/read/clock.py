"""The database's time for readers."""

from datetime import datetime

from ..db import dialect
from ..db.database import Database


async def server_time(database: Database) -> datetime:
    """Return the time by which work comes due: the clock set for the database in tests, else the database's own."""
    if database.clock is not None:
        return database.clock()
    # A standby would say what its own machine's clock says.
    return await database.with_replica(None).read(dialect.database_now)
