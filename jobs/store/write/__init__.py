"""Statements of the use cases: only actions and built-in jobs use them."""
