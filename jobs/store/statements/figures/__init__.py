"""Read figures over time: statistics, reports, hours, the depth of the queue."""
