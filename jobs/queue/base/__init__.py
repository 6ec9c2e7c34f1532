"""What all of the queue is made of: its statements, the shapes of rows, new runs, changes and their events."""
