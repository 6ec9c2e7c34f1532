"""The schema of the database of this process: what is missing, and bringing it up to date."""

from ..jobs.core.errors import SchemaTooNew
from ..jobs.store.db.opening import connected, exists
from ..migrations import upgrade as migrations


def migrate(database_url: str) -> list[str]:
    """Bring the database to the present schema; the revisions applied, oldest first. Blocks; safe on many nodes.

    Raises:
        SchemaTooNew: a newer version of Cronograph has migrated it.
        StorageError: it cannot be reached or used.
    """
    try:
        with connected(database_url) as connection:
            return migrations.upgrade(connection)
    except migrations.SchemaTooNewError as error:
        raise SchemaTooNew(str(error)) from error


def pending(database_url: str) -> list[str]:
    """The revisions that ``migrate`` would apply, oldest first; changes nothing, and makes no file.

    Raises:
        SchemaTooNew: a newer version of Cronograph has migrated it.
        StorageError: it cannot be reached or used.
    """
    if not exists(database_url):
        return [migrations.head()]
    try:
        with connected(database_url) as connection:
            return migrations.check(connection)
    except migrations.SchemaTooNewError as error:
        raise SchemaTooNew(str(error)) from error
