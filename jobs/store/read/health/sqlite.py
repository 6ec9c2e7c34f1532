"""What a SQLite file says about how it is used and kept."""

from dataclasses import dataclass

from sqlalchemy import Connection, text


@dataclass(frozen=True, slots=True)
class SqliteHealth:
    """What the file itself says.

    Attributes:
        faults: What SQLite's quick check has found.
        bytes: Its size.
        free_bytes: What of that holds nothing.
    """

    faults: tuple[str, ...]
    bytes: int
    free_bytes: int


def read(conn: Connection) -> SqliteHealth:
    """All of it; the quick check reads the whole file."""
    size: int = conn.execute(text("SELECT page_size FROM pragma_page_size()")).scalar_one()
    pages: int = conn.execute(text("SELECT page_count FROM pragma_page_count()")).scalar_one()
    free: int = conn.execute(text("SELECT freelist_count FROM pragma_freelist_count()")).scalar_one()
    found = conn.execute(text("SELECT quick_check FROM pragma_quick_check(20)")).scalars()
    return SqliteHealth(
        faults=tuple(line for line in found if line != "ok"),
        bytes=size * pages,
        free_bytes=size * free,
    )
