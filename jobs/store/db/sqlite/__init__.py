"""A SQLite file: whose it is, who writes, and whether it is still there."""
