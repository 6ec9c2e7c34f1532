"""Attempts at engines outside of their node: the node's side, the side of every API, and the process at the engine."""
