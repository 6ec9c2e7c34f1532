"""A run's way, whole: enqueued, or made of an occurrence; claimed, in fair order; finished, or lost with its node."""
