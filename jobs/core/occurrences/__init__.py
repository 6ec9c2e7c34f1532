"""Occurrences of tasks: when they are due by what the task says, and what happens to late ones."""
