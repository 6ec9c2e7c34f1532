"""PostgreSQL as SQLAlchemy speaks to it, with statements that all engines share."""

from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from .compiled import Alike


class SharedDialect(Alike, PGDialect_psycopg):
    """The dialect of the engines of ``sync_engine``."""

    supports_statement_cache = True
