"""What a document may cost: limits, and the checks before anything runs."""
