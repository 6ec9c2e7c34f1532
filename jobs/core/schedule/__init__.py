"""Schedules: parsing, next times and descriptions of the four syntaxes."""
