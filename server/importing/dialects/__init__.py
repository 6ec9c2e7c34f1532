"""How other programs read their schedules, and when these fire there."""
