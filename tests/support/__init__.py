"""Fixtures and helpers shared by all tests: `tests/conftest.py` makes the fixtures known."""
