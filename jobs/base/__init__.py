"""Share between jobs and their declarations: a run's context, its possible ends, the services of a node."""
