"""The life of a run inside a node: taken, attempted, and its end stored."""
