"""What may be set, where it is read from, and what it must be."""
