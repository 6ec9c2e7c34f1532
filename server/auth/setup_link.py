"""The link by which the first administrator is made: on standard error, and in a file that only its owner reads."""

import logging
import os
import sys
from pathlib import Path

from ...jobs.accounts.actions.accounts import prepare_setup
from ...jobs.accounts.actions.fresh import fresh_secret
from ...jobs.accounts.rules.credentials import Prefix, stored_form
from ...jobs.store.db.database import Database, sqlite_path

log = logging.getLogger("cronograph.sign_in")


def link_file(database: Database) -> Path:
    """Where the link is written: next to a SQLite file, in the working directory for PostgreSQL."""
    if database.is_sqlite:
        path = sqlite_path(database.url)
        return path.with_name(f"{path.name}.setup-link")
    return Path("cronograph.setup-link").absolute()


async def offer_setup(database: Database, url: str) -> str | None:
    """Make the set-up link of this start, unless an administrator exists; the link.

    Args:
        database: With its tables.
        url: The address under which people open the server.
    """
    secret = fresh_secret(Prefix.LINK)
    if not await database.write(prepare_setup, stored_form(secret)):
        remove_link(database)
        return None
    path = link_file(database)
    link = f"{url}/setup?token={secret}"
    _write_private(path, f"{link}\n")
    sys.stderr.write(f"There is no administrator yet. Open this link once to make one (also in {path}):\n  {link}\n")
    sys.stderr.flush()
    return link


def remove_link(database: Database) -> None:
    """Remove the file of the set-up link: it was used, and is not valid."""
    path = link_file(database)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("the set-up link was used; '%s' could not be removed: %s", path, error.strerror)


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read; one that is there is replaced, not followed."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)
