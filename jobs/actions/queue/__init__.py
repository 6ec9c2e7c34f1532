"""A run's way through the queue: enqueued, claimed, finished."""
