"""What decides about a run before it starts, and how it is found: pure rules."""
