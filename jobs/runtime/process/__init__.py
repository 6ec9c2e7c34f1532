"""Jobs in child processes: launcher, child, and what they say to the node."""
