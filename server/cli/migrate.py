"""``cronograph migrate``: bring the database to the present schema without serving."""

from ...jobs.store.db.sqlite.filelock import lock_for
from ..configuration.reading import load
from ..database.schema import migrate as apply_migrations
from .base.options import ConfigFile, DatabaseSchema, DatabaseUrl
from .base.output import Output, answering


@answering
def migrate(
    output: Output, database_url: DatabaseUrl = None, database_schema: DatabaseSchema = None, config: ConfigFile = None
) -> None:
    """Bring the database to the present schema.

    `serve` does the same at its start; this command is for those who want it as a step of its own. It works without a
    server, and refuses while one uses the same SQLite file.
    """
    settings = load({"database_url": database_url, "database_schema": database_schema}, config).settings
    lock = lock_for(settings.database_url)
    if lock is not None:
        lock.acquire()
    try:
        applied = apply_migrations(settings.database_url)
    finally:
        if lock is not None:
            lock.release()
    done = f"applied {', '.join(applied)}" if applied else "nothing to do, it is up to date"
    output.result({"ok": True, "applied": applied}, f"Database schema: {done}")
