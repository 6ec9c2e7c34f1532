"""A node takes runs: which it could take, in which order, and how they begin."""
