"""What outlives the attempts at a run: its steps."""
