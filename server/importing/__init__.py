"""Schedules of other programs: read, compared with their new form, and written as tasks or as jobs."""
