"""What a job takes: its arguments judged by its JSON Schema, and its version of that in a word."""
