"""Bound the cost of documents: limits, and the checks before anything runs."""
