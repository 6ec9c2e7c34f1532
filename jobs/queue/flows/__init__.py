"""Runs that belong together: enqueue them, and follow up the ends of their runs."""
