"""Jobs in child processes: launcher, child, and their messages to the node."""
