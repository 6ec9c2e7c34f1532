"""Runs that belong together: how a flow is enqueued, and what follows when one of its runs ends."""
