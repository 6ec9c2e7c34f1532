"""The schema of a database as sorted lines of text, so that two of them can be compared and the difference be read."""

from sqlalchemy import Connection, text

SQLITE_MASTER = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"

POSTGRES = (
    # Columns, in their order, with type and default.
    """
    SELECT 'column ' || relname || '.' || attnum || ' ' || attname || ' ' || format_type(atttypid, atttypmod)
        || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END || coalesce(' DEFAULT ' || pg_get_expr(adbin, adrelid), '')
    FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
    LEFT JOIN pg_attrdef d ON (adrelid, adnum) = (attrelid, attnum)
    WHERE relkind IN ('p', 'r') AND relnamespace = 'cronograph'::regnamespace AND attnum > 0 AND NOT attisdropped
    """,
    """
    SELECT 'table ' || relname || coalesce(' BY ' || pg_get_partkeydef(oid), '')
        || coalesce(' ' || pg_get_expr(relpartbound, oid), '')
        || coalesce(' WITH ' || (SELECT string_agg(o, ', ' ORDER BY o) FROM unnest(reloptions) o), '')
    FROM pg_class WHERE relkind IN ('p', 'r') AND relnamespace = 'cronograph'::regnamespace
    """,
    """
    SELECT 'constraint ' || conrelid::regclass || '.' || conname || ' ' || pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'cronograph'::regnamespace AND contype <> 'n'
    """,
    "SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'cronograph'",
    """
    SELECT 'sequence ' || s.relname || ' OWNED BY ' || t.relname
    FROM pg_class s JOIN pg_depend ON objid = s.oid AND deptype = 'a' JOIN pg_class t ON t.oid = refobjid
    WHERE s.relkind = 'S'
    """,
)


def catalog(connection: Connection) -> list[str]:
    """Every table, column, constraint and index of the database, except the version table of the migrations."""
    postgres = connection.dialect.name == "postgresql"
    lines = postgres_catalog(connection) if postgres else sqlite_catalog(connection)
    return sorted(line for line in lines if "cronograph_version" not in line)


def postgres_catalog(connection: Connection) -> list[str]:
    """Return what PostgreSQL's system catalogs say."""
    return [line for query in POSTGRES for line in connection.execute(text(query)).scalars()]


def sqlite_catalog(connection: Connection) -> list[str]:
    """The statements that SQLite keeps, a line per column or constraint; the order of constraints does not matter."""
    return [
        f"{kind} {name}: {line.strip().rstrip(',')}"
        for kind, name, statement in connection.exec_driver_sql(SQLITE_MASTER)
        for line in str(statement).splitlines()
        if line.strip(" )")
    ]
