"""Hand attempts to engines outside of their node: any launcher by its commands, others by entry points."""
