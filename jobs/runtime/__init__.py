"""The moving parts of a node."""
