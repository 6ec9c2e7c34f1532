"""Runs and flows: enqueue, cancel, retry, signal, prune."""
