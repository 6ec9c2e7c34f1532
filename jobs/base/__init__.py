"""What jobs and those who declare them share: the context of a run, what a run may end with, what a node provides."""
