"""SQLite as SQLAlchemy speaks to it, with statements that all engines share."""

from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from .compiled import Alike


class SharedDialect(Alike, SQLiteDialect_pysqlite):
    """The dialect of the engines of ``sync_engine``."""

    supports_statement_cache = True
