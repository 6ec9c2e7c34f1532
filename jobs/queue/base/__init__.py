"""Share the statements of the queue, the shapes of rows, new runs, changes and their events."""
