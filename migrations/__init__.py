"""The history of the database schema, frozen, for Alembic."""
