"""What readers see live: events, log lines, progress."""
