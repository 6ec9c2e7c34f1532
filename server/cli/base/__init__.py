"""The base of all commands: their options, their output and the way to the database."""
