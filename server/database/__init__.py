"""The database as the commands see it: its schema, its accounts, its health."""
