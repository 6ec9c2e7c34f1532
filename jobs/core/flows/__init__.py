"""What a flow is: runs of which some wait for others. Its shape, its conditions, what its runs take from each other."""
