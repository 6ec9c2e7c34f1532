"""Runs are put into the queue: one or many, asked for by callers or by the failure of another run."""
