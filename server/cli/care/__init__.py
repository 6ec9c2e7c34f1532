"""The commands that look after a database, whether a server uses it or not."""
