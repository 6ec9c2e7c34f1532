"""The history of the database schema, frozen, for Alembic. ``cronograph.migrations.upgrade`` applies it."""
