"""Schedules of other programs: read, compared with what they become here, and written as tasks or as jobs."""
