"""Flows in the queue: put there as a whole, and moved on by the end of each of their runs."""
