"""The settings, their sources, and the rules for their values."""
