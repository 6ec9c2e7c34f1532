"""Live events, log lines and progress for readers."""
