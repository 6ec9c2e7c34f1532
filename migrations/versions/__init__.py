"""One module per schema revision, in the order of their numbers."""
