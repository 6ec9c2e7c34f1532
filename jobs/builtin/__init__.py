"""The jobs that every node brings along."""
