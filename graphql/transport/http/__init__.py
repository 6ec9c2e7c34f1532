"""Serve HTTP: POST with an answer in JSON, and event streams."""
