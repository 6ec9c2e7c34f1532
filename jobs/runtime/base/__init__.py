"""The settings and the clock of a node, its services, and the hints that wake them."""
